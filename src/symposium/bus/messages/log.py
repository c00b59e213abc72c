"""`log`: a line for the history; relayed to nobody."""

from typing import ClassVar, Literal

from symposium.bus.roles import ANYONE, Role
from symposium.bus.vocabulary import About, Announcement, Target


class Log(Announcement, frozen=True, kw_only=True):
    """Keep a line in the history; a log that is relayed and logged again would never end."""

    about: ClassVar = About(
        "log", sent_by=ANYONE | {Role.LEGACY}, target=Target.BROKER, source="bus §1.10, §1.5"
    )
    level: Literal["error", "warn", "info", "debug"]
    message: str

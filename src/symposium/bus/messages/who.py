"""`who`: everyone who is connected, and where."""

from typing import ClassVar

from symposium.bus.roles import ANYONE, Role
from symposium.bus.shapes import Present, WindowKind
from symposium.bus.vocabulary import About, Request, Target


class Who(Request[list[Present]], frozen=True, kw_only=True):
    """Ask for everyone who is connected, or those of one role, taskspace or kind."""

    about: ClassVar = About(
        "who",
        sent_by=ANYONE | {Role.OBSERVER},
        target=Target.BROKER,
        budget=5.0,
        is_idempotent=True,
        version=2,
        source="bus §7, row 17",
    )
    role: str | None = None
    taskspace_uuid: str | None = None
    kind: WindowKind | None = None

"""`goodbye`: I am leaving."""

from typing import ClassVar

from symposium.bus.roles import ANYONE, Role
from symposium.bus.vocabulary import About, Announcement, Target


class Goodbye(Announcement, frozen=True, kw_only=True):
    """Say that an MCP server shuts down; the broker knows of it anyway."""

    about: ClassVar = About(
        "goodbye", sent_by=ANYONE | {Role.LEGACY}, target=Target.EVERYBODY, source="bus §1.8"
    )

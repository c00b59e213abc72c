"""`marco`: who is out there?"""

from typing import ClassVar

from symposium.bus.roles import ANYONE, Role
from symposium.bus.vocabulary import About, Announcement, Target


class Marco(Announcement, frozen=True, kw_only=True):
    """Ask every MCP server to answer with `polo`; for peers of version 1, others ask `who`."""

    about: ClassVar = About(
        "marco", sent_by=ANYONE | {Role.LEGACY}, target=Target.EVERYBODY, source="bus §1.8"
    )

"""`polo`: I am here."""

from typing import ClassVar

from symposium.bus.roles import ANYONE, Role
from symposium.bus.vocabulary import About, Announcement, Target


class Polo(Announcement, frozen=True, kw_only=True):
    """Say that an MCP server is here; who it is stands in the envelope's sender."""

    about: ClassVar = About(
        "polo", sent_by=ANYONE | {Role.LEGACY}, target=Target.EVERYBODY, source="bus §1.8"
    )

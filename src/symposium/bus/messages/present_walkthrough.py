"""`present_walkthrough`: show a walkthrough."""

from typing import ClassVar

from msgspec import field

from symposium.bus.roles import AGENTS, PEOPLE, Role
from symposium.bus.vocabulary import About, Done, Request, Target


class PresentWalkthrough(Request[Done], frozen=True, kw_only=True):
    """Show a walkthrough in the window of whoever sends it.

    Attributes:
        content: HTML, with all locations resolved.
        base_uri: the directory that paths in it are relative to.
    """

    about: ClassVar = About(
        "present_walkthrough",
        sent_by=AGENTS | PEOPLE | {Role.LEGACY},
        target=Target.WINDOW,
        budget=30.0,
        source="bus §1.10; §1.11, row 4",
    )
    content: str
    base_uri: str = field(name="baseUri")

"""`get_selection`: what is selected in the editor?"""

from typing import ClassVar

from symposium.bus.roles import AGENTS, PEOPLE, Role
from symposium.bus.shapes import Selection
from symposium.bus.vocabulary import About, Request, Target


class GetSelection(Request[Selection], frozen=True, kw_only=True):
    """Ask the window of whoever sends it for its selection."""

    about: ClassVar = About(
        "get_selection",
        sent_by=AGENTS | PEOPLE | {Role.LEGACY},
        target=Target.WINDOW,
        budget=30.0,
        is_idempotent=True,
        source="bus §1.10, §5.3",
    )

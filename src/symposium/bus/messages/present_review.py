"""`present_review`: the reference's older way to show a review."""

from enum import Enum
from typing import ClassVar

from symposium.bus.roles import AGENTS, PEOPLE, Role
from symposium.bus.vocabulary import About, Done, Request, Target


class ReviewMode(Enum):
    """What becomes of the review that is shown."""

    REPLACE = "Replace"
    APPEND = "Append"
    UPDATE_SECTION = "UpdateSection"


class PresentReview(Request[Done], frozen=True, kw_only=True):
    """Show a review as markdown, in place of or behind the one that is shown.

    Attributes:
        content: markdown.
        mode: what becomes of the one that is shown.
        section: the heading whose section is replaced.
        base_uri: the directory that paths in it are relative to.
    """

    about: ClassVar = About(
        "present_review",
        sent_by=AGENTS | PEOPLE | {Role.LEGACY},
        target=Target.WINDOW,
        budget=30.0,
        source="bus §1.10, §6 A2",
    )
    content: str
    mode: ReviewMode = ReviewMode.REPLACE
    section: str | None = None
    base_uri: str = ""

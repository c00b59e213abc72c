"""`create_synthetic_pr`: show a review and wait for what is said."""

from typing import Any, ClassVar

from symposium.bus.roles import AGENTS, PEOPLE, Role
from symposium.bus.shapes import CommentThread, ReviewFile
from symposium.bus.vocabulary import About, Request, Target


class CreateSyntheticPr(Request[Any], frozen=True, kw_only=True, omit_defaults=False):
    """Show a review and wait for what is said; the reply is the review's id or the feedback."""

    about: ClassVar = About(
        "create_synthetic_pr",
        sent_by=AGENTS | PEOPLE | {Role.LEGACY},
        target=Target.ENGINE,
        budget=3600.0,
        source="bus §4.8, seed 001",
    )
    review_id: str
    title: str
    commit_range: str
    description: Any = None
    status: str = "Pending"
    files_changed: tuple[ReviewFile, ...] = ()
    comment_threads: tuple[CommentThread, ...] = ()
    created_at: Any = None
    updated_at: Any = None

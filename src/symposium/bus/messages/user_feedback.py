"""`user_feedback`: what a person says of a review."""

from typing import ClassVar

from symposium.bus.roles import PEOPLE, Role
from symposium.bus.vocabulary import About, Done, Request, Target


class UserFeedback(Request[Done], frozen=True, kw_only=True):
    """Tell what a person says of a review.

    Attributes:
        review_id: of which review.
        feedback_type: `comment` or `complete_review`; what is unknown completes it.
        file_path, line_number, comment_text, context_lines: of a comment.
        completion_action: `request_changes`, `checkpoint` or `return`.
        additional_notes: of a completion.
    """

    about: ClassVar = About(
        "user_feedback",
        sent_by=PEOPLE | {Role.LEGACY},
        target=Target.MCP_SERVER,
        budget=5.0,
        is_idempotent=True,
        source="bus §4.9, seed 001",
    )
    review_id: str
    feedback_type: str
    file_path: str | None = None
    line_number: int | None = None
    comment_text: str | None = None
    completion_action: str | None = None
    additional_notes: str | None = None
    context_lines: tuple[str, ...] | None = None

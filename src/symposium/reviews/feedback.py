"""What a person says to a review, as the bus carries it (bus-mcp-taskspaces §4.9). Pure."""

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast, get_args

import msgspec
from msgspec import Struct

from symposium.errors import SymposiumError
from symposium.reviews.model import CommentThread, Review, Status

Action: TypeAlias = Literal["request_changes", "checkpoint", "return"]

_STATUS: Final[dict[Action, Status]] = {
    "request_changes": "ChangesRequested",
    "checkpoint": "Checkpoint",
    "return": "Returned",
}


class FeedbackError(SymposiumError):
    """What came is no feedback."""


class UserFeedback(Struct, frozen=True, omit_defaults=True):
    """The payload of `user_feedback`."""

    review_id: str
    feedback_type: str
    file_path: str | None = None
    line_number: int | None = None
    comment_text: str | None = None
    completion_action: str | None = None
    additional_notes: str | None = None
    context_lines: list[str] | None = None


@dataclass(frozen=True, slots=True)
class Commented:
    """A person has said something at a line; path and line may be missing."""

    review_id: str
    file_path: str | None
    line_number: int | None
    text: str
    context_lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Completed:
    """A person is through with a review."""

    review_id: str
    action: Action
    notes: str | None


Feedback: TypeAlias = Commented | Completed


def read_feedback(payload: Any) -> Feedback:
    """What a payload means; an unknown type or action completes the review with `return`.

    Raises:
        FeedbackError: it names no review, or its members have other types.
    """
    try:
        said = msgspec.convert(payload, UserFeedback)
    except msgspec.ValidationError as error:
        raise FeedbackError(f"no feedback looks like this: {error}", "") from error
    match said.feedback_type:
        case "comment":
            return Commented(
                said.review_id,
                said.file_path,
                said.line_number,
                said.comment_text or "",
                tuple(said.context_lines or ()),
            )
        case "complete_review" if said.completion_action in get_args(Action):
            action = cast("Action", said.completion_action)
            return Completed(said.review_id, action, said.additional_notes)
        case _:
            return Completed(said.review_id, "return", said.additional_notes)


def with_feedback(review: Review, feedback: Feedback, now: str) -> Review:
    """The review after it.

    Args:
        review: before it.
        feedback: what was said.
        now: ISO 8601, in UTC.
    """
    said = [*review.said, msgspec.to_builtins(_payload(feedback))]
    review = msgspec.structs.replace(review, said=said, attention="answered", updated_at=now)
    match feedback:
        case Completed(action=action, notes=notes):
            return msgspec.structs.replace(review, status=_STATUS[action], notes=notes)
        case Commented():
            threads = _with_comment(review.comment_threads, feedback)
            return msgspec.structs.replace(review, comment_threads=threads)


def _payload(feedback: Feedback) -> UserFeedback:
    match feedback:
        case Completed(review_id, action, notes):
            return UserFeedback(
                review_id, "complete_review", completion_action=action, additional_notes=notes
            )
        case Commented(review_id, path, line, text, around):
            context = list(around) or None
            return UserFeedback(review_id, "comment", path, line, text, context_lines=context)


def _with_comment(threads: list[CommentThread], said: Commented) -> list[CommentThread]:
    path, line = said.file_path or "", said.line_number or 0
    for at, thread in enumerate(threads):
        if (thread.file_path, thread.line_number) == (path, line):
            answered = msgspec.structs.replace(thread, responses=[*thread.responses, said.text])
            return [*threads[:at], answered, *threads[at + 1 :]]
    return [*threads, CommentThread(f"{path}:{line}", path, line, "Comment", said.text)]

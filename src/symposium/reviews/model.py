"""A review as data: what changed, what the author has noted in it, what people say (§4.8)."""

from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from symposium.diffs.model import FileChange

CommentType: TypeAlias = Literal["Explanation", "Question", "Todo", "Fixme", "Comment"]
"""Of the author the first four, by their marks; what a person says is a `Comment`."""

Status: TypeAlias = Literal["Pending", "ChangesRequested", "Checkpoint", "Returned"]


Attention: TypeAlias = Literal["no_reviewer", "waiting", "answered"]
"""Whether anybody has it: nobody was there, somebody has it or may have it, somebody spoke."""


class CommentThread(Struct, frozen=True):
    """A comment at a line, and what was said to it.

    Attributes:
        thread_id: the path and the line where it was first seen, or an id of its own.
        line_number: counted from 1, on the new side.
    """

    thread_id: str
    file_path: str
    line_number: int
    comment_type: CommentType
    content: str
    responses: list[str] = field(default_factory=list[str])


class Review(Struct, frozen=True):
    """A pull request that exists on this machine only.

    Attributes:
        description: whatever the author has given.
        commit_range: as `diffs.ranges` reads it.
        created_at: ISO 8601, in UTC; so is `updated_at`.
        notes: what a person wrote when completing it.
        attention: who has this version of it.
        said: what people said of this version, in order, as `user_feedback` has it.
    """

    review_id: str
    title: str
    description: Any
    commit_range: str
    status: Status
    files_changed: list[FileChange]
    comment_threads: list[CommentThread]
    created_at: str
    updated_at: str
    notes: str | None = None
    attention: Attention = "no_reviewer"
    said: list[Any] = field(default_factory=list[Any])

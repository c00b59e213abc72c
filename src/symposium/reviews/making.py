"""Makes a review of a range of commits, and makes it anew when the range has grown."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from symposium.diffs.ranges import DiffRange, changes
from symposium.reviews.marked_comments import threads_of_changes
from symposium.reviews.model import CommentThread, Review


@dataclass(frozen=True, slots=True)
class Request:
    """What an author wants to have reviewed.

    Attributes:
        commit_range: as `diffs.ranges` reads it.
        title: of the review.
        description: whatever the author gives.
    """

    commit_range: str
    title: str
    description: Any


async def make_review(folder: Path, request: Request, *, review_id: str, now: str) -> Review:
    """A review of what has changed; `now` is ISO 8601, in UTC.

    Raises:
        GitError: there is no repository, or no such range.
    """
    found = await changes(folder, DiffRange(request.commit_range))
    return Review(
        review_id,
        request.title,
        request.description,
        request.commit_range,
        "Pending",
        found.files,
        list(threads_of_changes(found.files)),
        now,
        now,
    )


@dataclass(frozen=True, slots=True)
class Remade:
    """A review that was made anew.

    Attributes:
        review: pending again.
        gone: threads that people have answered and that are in the code no more.
    """

    review: Review
    gone: Sequence[CommentThread]


async def remake_review(folder: Path, review: Review, *, now: str) -> Remade:
    """The review of the same range as it is now; what people said stays with what it is about.

    Raises:
        GitError: there is no repository, or no such range any more.
    """
    found = await changes(folder, DiffRange(review.commit_range))
    old = list(review.comment_threads)
    threads: list[CommentThread] = []
    for thread in threads_of_changes(found.files):
        same = next((each for each in old if _is_same(each, thread)), None)
        if same is not None:
            old.remove(same)
            thread = msgspec.structs.replace(  # noqa: PLW2901 - the same thread, with its answers
                thread, thread_id=same.thread_id, responses=same.responses
            )
        threads.append(thread)
    said = [each for each in old if each.comment_type == "Comment"]
    gone = [each for each in old if each.comment_type != "Comment" and each.responses]
    remade = msgspec.structs.replace(
        review,
        status="Pending",
        files_changed=found.files,
        comment_threads=[*threads, *said],
        updated_at=now,
        notes=None,
        attention="no_reviewer",
        said=[],
    )
    return Remade(remade, gone)


def _is_same(old: CommentThread, new: CommentThread) -> bool:
    # Not by its line: that moves with every change above it.
    return (old.file_path, old.comment_type, old.content) == (
        new.file_path,
        new.comment_type,
        new.content,
    )

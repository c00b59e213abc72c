"""Reviews: data, comments, feedback, and their store."""

import fcntl
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast, get_args

import msgspec
from msgspec import Struct, field

from localio.errors import ExplainedError
from localio.files import write_whole
from symposium.code.diffs import DiffRange, FileChange, changes
from symposium.errors import NotFoundError, SymposiumError

CommentType: TypeAlias = Literal["Explanation", "Question", "Todo", "Fixme", "Comment"]
"""The first four are marks of the author; `Comment` is one by the user."""

Status: TypeAlias = Literal["Pending", "ChangesRequested", "Checkpoint", "Returned"]


Attention: TypeAlias = Literal["no_reviewer", "waiting", "answered"]
"""Whether the user saw it: no viewer was connected, one may have it, or the user responded."""


class ReviewThread(Struct, frozen=True):
    """A comment on a line, with replies.

    Attributes:
        thread_id: path and line of its first occurrence, or a unique id.
        line_number: line on the new side, from 1.
    """

    thread_id: str
    file_path: str
    line_number: int
    comment_type: CommentType
    content: str
    responses: list[str] = field(default_factory=list[str])


class Review(Struct, frozen=True):
    """A local review of commits, like a pull request.

    Attributes:
        description: data from the author.
        commit_range: range in the syntax of `code.diffs`.
        created_at: time in ISO 8601, UTC; `updated_at` has the same format.
        notes: the user's notes on completion.
        attention: whether the user saw this version.
        said: the user's feedback on this version, in order, as in `user_feedback`.
    """

    review_id: str
    title: str
    description: Any
    commit_range: str
    status: Status
    files_changed: list[FileChange]
    comment_threads: list[ReviewThread]
    created_at: str
    updated_at: str
    notes: str | None = None
    attention: Attention = "no_reviewer"
    said: list[Any] = field(default_factory=list[Any])


_MARKED: Final = re.compile(r"(?://|#|<!--)\s*(💡|❓|TODO:|FIXME:)\s*(.*)")
_TYPES: Final[dict[str, CommentType]] = {
    "💡": "Explanation",
    "❓": "Question",
    "TODO:": "Todo",
    "FIXME:": "Fixme",
}


def marked(line: str) -> tuple[CommentType, str] | None:
    """First marked comment in a line, with its text; None if there is no mark."""
    found = _MARKED.search(line)
    if found is None:
        return None
    return _TYPES[found[1]], found[2].rstrip().removesuffix("-->").rstrip()


def threads_of_file(
    path: str, lines: Iterable[str], new_id: Callable[[], str]
) -> Iterator[ReviewThread]:
    """Marked comments in a file, each with a unique id."""
    for number, line in enumerate(lines, 1):
        if (found := marked(line)) is not None:
            yield ReviewThread(new_id(), path, number, *found)


def threads_of_changes(files: Sequence[FileChange]) -> Iterator[ReviewThread]:
    """Marked comments in added lines and their context."""
    for file in files:
        for line in (line for hunk in file.hunks for line in hunk.lines):
            number = line.new_line_number
            if number is not None and (found := marked(line.content)) is not None:
                yield ReviewThread(f"{file.path}:{number}", file.path, number, *found)


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """Request for a review.

    Attributes:
        commit_range: range in the syntax of `code.diffs`.
        title: title of the review.
        description: data from the author.
    """

    commit_range: str
    title: str
    description: Any


async def make_review(folder: Path, request: ReviewRequest, *, review_id: str, now: str) -> Review:
    """Create a review of changes; `now` is in ISO 8601, UTC.

    Raises:
        GitRunError: there is no repository, or no such range.
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
    """An updated review.

    Attributes:
        review: the review, pending again.
        gone: threads with replies whose lines no longer exist.
    """

    review: Review
    gone: Sequence[ReviewThread]


async def remake_review(folder: Path, review: Review, *, now: str) -> Remade:
    """Update a review to the current state of its range; replies stay with their threads.

    Raises:
        GitRunError: there is no repository, or no such range any more.
    """
    found = await changes(folder, DiffRange(review.commit_range))
    old = list(review.comment_threads)
    threads: list[ReviewThread] = []
    for thread in threads_of_changes(found.files):
        same = next((each for each in old if _is_same(each, thread)), None)
        if same is not None:
            old.remove(same)
            thread = msgspec.structs.replace(  # noqa: PLW2901 - the same thread with its replies
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


def _is_same(old: ReviewThread, new: ReviewThread) -> bool:
    # Not by line number, which changes with every edit above it.
    return (old.file_path, old.comment_type, old.content) == (
        new.file_path,
        new.comment_type,
        new.content,
    )


Action: TypeAlias = Literal["request_changes", "checkpoint", "return"]

_STATUS: Final[dict[Action, Status]] = {
    "request_changes": "ChangesRequested",
    "checkpoint": "Checkpoint",
    "return": "Returned",
}


class FeedbackError(SymposiumError):
    """A client sent review feedback with missing or invalid fields."""


class ReviewFeedback(Struct, frozen=True, omit_defaults=True):
    """Feedback of the user on a review, as in the payload of `user_feedback`."""

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
    """The user commented on a line; path and line may be missing."""

    review_id: str
    file_path: str | None
    line_number: int | None
    text: str
    context_lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Completed:
    """The user completed a review."""

    review_id: str
    action: Action
    notes: str | None


Feedback: TypeAlias = Commented | Completed


def read_feedback(payload: Any) -> Feedback:
    """Decode feedback; an unknown type or action completes the review with `return`.

    Raises:
        FeedbackError: it names no review, or its members have wrong types.
    """
    try:
        said = msgspec.convert(payload, ReviewFeedback)
    except msgspec.ValidationError as error:
        raise FeedbackError(f"malformed feedback: {error}", "") from error
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
    """Apply feedback to a review.

    Args:
        review: the review.
        feedback: the feedback.
        now: time in ISO 8601, UTC.
    """
    said = [*review.said, msgspec.to_builtins(_payload(feedback))]
    review = msgspec.structs.replace(review, said=said, attention="answered", updated_at=now)
    match feedback:
        case Completed(action=action, notes=notes):
            return msgspec.structs.replace(review, status=_STATUS[action], notes=notes)
        case Commented():
            threads = _with_comment(review.comment_threads, feedback)
            return msgspec.structs.replace(review, comment_threads=threads)


def _payload(feedback: Feedback) -> ReviewFeedback:
    match feedback:
        case Completed(review_id, action, notes):
            return ReviewFeedback(
                review_id, "complete_review", completion_action=action, additional_notes=notes
            )
        case Commented(review_id, path, line, text, around):
            context = list(around) or None
            return ReviewFeedback(review_id, "comment", path, line, text, context_lines=context)


def _with_comment(threads: list[ReviewThread], said: Commented) -> list[ReviewThread]:
    path, line = said.file_path or "", said.line_number or 0
    for at, thread in enumerate(threads):
        if (thread.file_path, thread.line_number) == (path, line):
            answered = msgspec.structs.replace(thread, responses=[*thread.responses, said.text])
            return [*threads[:at], answered, *threads[at + 1 :]]
    return [*threads, ReviewThread(f"{path}:{line}", path, line, "Comment", said.text)]


_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_log = logging.getLogger(__name__)


class ReviewStoreError(SymposiumError):
    """A review could not be written or read."""


class ReviewStore:
    """Reviews in a folder, which is created with the first one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, review: Review) -> None:
        """Store a review; replaces the one with the same id.

        Raises:
            ReviewStoreError: it cannot be written, or its id is not a valid file name.
        """
        if not _ID.fullmatch(review.review_id):
            raise ReviewStoreError(f"invalid review id {review.review_id!r}", "use a UUID")
        try:
            text = msgspec.json.format(msgspec.json.encode(review), indent=2).decode()
            write_whole(self._path(review.review_id), text)
        except OSError as error:
            message = f"cannot store a review in {self._folder}: {error.strerror}"
            raise ReviewStoreError(message, "fix its permissions") from error

    def has(self, review_id: str) -> bool:
        """Whether a review with this id exists."""
        return bool(_ID.fullmatch(review_id)) and self._path(review_id).is_file()

    def load(self, review_id: str) -> Review:
        """Read a review.

        Raises:
            NotFoundError: it does not exist.
            ReviewStoreError: it cannot be read.
        """
        path = self._path(review_id)
        if not self.has(review_id):
            raise NotFoundError(f"unknown review {review_id!r}", "")
        try:
            return msgspec.json.decode(path.read_bytes(), type=Review)
        except (OSError, msgspec.MsgspecError) as error:
            raise ReviewStoreError(f"cannot read {path}: {error}", "remove it") from error

    def newest(self) -> Iterator[Review]:
        """Reviews, last changed first; unreadable ones are skipped."""
        found: list[Review] = []
        for path in self._folder.glob("*.json"):
            with suppress(ExplainedError):
                found.append(self.load(path.stem))
        yield from sorted(found, key=lambda each: (each.updated_at, each.review_id), reverse=True)

    def take(self, feedback: Feedback, now: str) -> Review | None:
        """Store feedback; returns the changed review, or None for an unknown one.

        Args:
            feedback: the feedback.
            now: time in ISO 8601, UTC.

        Raises:
            ReviewStoreError: the review cannot be read or written.
        """
        try:
            return self.change(
                feedback.review_id, lambda review: with_feedback(review, feedback, now)
            )
        except NotFoundError as error:
            _log.warning("could not store feedback: %s", error)
            return None

    def change(self, review_id: str, changed: Callable[[Review], Review]) -> Review:
        """Change a review under a lock.

        Raises:
            NotFoundError: it does not exist.
            ReviewStoreError: it cannot be read or written.
        """
        self.load(review_id)
        try:
            handle = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            message = f"cannot change a review in {self._folder}: {error.strerror}"
            raise ReviewStoreError(message, "fix its permissions") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            review = changed(self.load(review_id))
            self.save(review)
        finally:
            os.close(handle)
        return review

    def _path(self, review_id: str) -> Path:
        return self._folder / f"{review_id}.json"

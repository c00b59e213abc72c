"""Reviews: values, comments, feedback, store."""

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
"""Of the author the first four, by their marks; what a person says is a `Comment`."""

Status: TypeAlias = Literal["Pending", "ChangesRequested", "Checkpoint", "Returned"]


Attention: TypeAlias = Literal["no_reviewer", "waiting", "answered"]
"""Whether anybody has it: nobody was there, somebody has it or may have it, somebody spoke."""


class ReviewThread(Struct, frozen=True):
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
    """The first marked comment of a line, and its text; None if there is none."""
    found = _MARKED.search(line)
    if found is None:
        return None
    return _TYPES[found[1]], found[2].rstrip().removesuffix("-->").rstrip()


def threads_of_file(
    path: str, lines: Iterable[str], new_id: Callable[[], str]
) -> Iterator[ReviewThread]:
    """The marked comments of a whole file, each with an id of its own."""
    for number, line in enumerate(lines, 1):
        if (found := marked(line)) is not None:
            yield ReviewThread(new_id(), path, number, *found)


def threads_of_changes(files: Sequence[FileChange]) -> Iterator[ReviewThread]:
    """The marked comments of what was added, and of the lines around it."""
    for file in files:
        for line in (line for hunk in file.hunks for line in hunk.lines):
            number = line.new_line_number
            if number is not None and (found := marked(line.content)) is not None:
                yield ReviewThread(f"{file.path}:{number}", file.path, number, *found)


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """What an author wants to have reviewed.

    Attributes:
        commit_range: as `diffs.ranges` reads it.
        title: of the review.
        description: whatever the author gives.
    """

    commit_range: str
    title: str
    description: Any


async def make_review(folder: Path, request: ReviewRequest, *, review_id: str, now: str) -> Review:
    """A review of what has changed; `now` is ISO 8601, in UTC.

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
    """A review that was made anew.

    Attributes:
        review: pending again.
        gone: threads that people have answered and that are in the code no more.
    """

    review: Review
    gone: Sequence[ReviewThread]


async def remake_review(folder: Path, review: Review, *, now: str) -> Remade:
    """The review of the same range as it is now; what people said stays with what it is about.

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


def _is_same(old: ReviewThread, new: ReviewThread) -> bool:
    # Not by its line: that moves with every change above it.
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
    """What came is no feedback."""


class ReviewFeedback(Struct, frozen=True, omit_defaults=True):
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
        said = msgspec.convert(payload, ReviewFeedback)
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
    """A review cannot be written or read."""


class ReviewStore:
    """The reviews in a folder, which is made when the first is stored."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, review: Review) -> None:
        """Store a review, in the place of the one with its id.

        Raises:
            ReviewStoreError: it cannot be written, or its id can be no name of a file.
        """
        if not _ID.fullmatch(review.review_id):
            raise ReviewStoreError(f"no review can be called {review.review_id!r}", "use a UUID")
        try:
            text = msgspec.json.format(msgspec.json.encode(review), indent=2).decode()
            write_whole(self._path(review.review_id), text)
        except OSError as error:
            message = f"cannot store a review in {self._folder}: {error.strerror}"
            raise ReviewStoreError(message, "mend its permissions") from error

    def has(self, review_id: str) -> bool:
        """Whether there is one with this id."""
        return bool(_ID.fullmatch(review_id)) and self._path(review_id).is_file()

    def load(self, review_id: str) -> Review:
        """A review.

        Raises:
            NotFoundError: there is none with this id.
            ReviewStoreError: it cannot be read.
        """
        path = self._path(review_id)
        if not self.has(review_id):
            raise NotFoundError(f"there is no review {review_id!r} here", "")
        try:
            return msgspec.json.decode(path.read_bytes(), type=Review)
        except (OSError, msgspec.MsgspecError) as error:
            raise ReviewStoreError(f"cannot read {path}: {error}", "remove it") from error

    def newest(self) -> Iterator[Review]:
        """The reviews, the one that changed last first; what cannot be read is left out."""
        found: list[Review] = []
        for path in self._folder.glob("*.json"):
            with suppress(ExplainedError):
                found.append(self.load(path.stem))
        yield from sorted(found, key=lambda each: (each.updated_at, each.review_id), reverse=True)

    def take(self, feedback: Feedback, now: str) -> Review | None:
        """Store what a person has said; the review after it, None if nobody knows the review.

        Args:
            feedback: what was said.
            now: ISO 8601, in UTC.

        Raises:
            ReviewStoreError: the review cannot be read or written.
        """
        try:
            return self.change(
                feedback.review_id, lambda review: with_feedback(review, feedback, now)
            )
        except NotFoundError as error:
            _log.warning("feedback is lost: %s", error)
            return None

    def change(self, review_id: str, changed: Callable[[Review], Review]) -> Review:
        """Store what becomes of a review; no other process changes it meanwhile.

        Raises:
            NotFoundError: there is none with this id.
            ReviewStoreError: it cannot be read or written.
        """
        self.load(review_id)
        try:
            handle = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            message = f"cannot change a review in {self._folder}: {error.strerror}"
            raise ReviewStoreError(message, "mend its permissions") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            review = changed(self.load(review_id))
            self.save(review)
        finally:
            os.close(handle)
        return review

    def _path(self, review_id: str) -> Path:
        return self._folder / f"{review_id}.json"

"""The reviews of one project or taskspace, one file each, in a folder."""

import fcntl
import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from localio.errors import ExplainedError
from localio.files import write_whole
from symposium.errors import NotFoundError, SymposiumError
from symposium.reviews.feedback import Feedback, with_feedback
from symposium.reviews.model import Review

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

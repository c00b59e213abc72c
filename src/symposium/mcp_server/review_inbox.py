"""The reviews of one project on disk, and the tools that wait for a word on one (§4.8, §4.9)."""

import asyncio
import logging
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from localio.errors import ExplainedError
from symposium.bus.errors import BusRefusedError
from symposium.bus.handlers import RequestContext
from symposium.bus.messages.editor import UserFeedback
from symposium.bus.protocol import Ack
from symposium.documents.reviews import Attention, Feedback, Review, ReviewStore, read_feedback
from symposium.errors import NotFoundError

LOOK_EVERY: Final = 5.0
"""Seconds between two looks whether another process has taken a word that we wait for."""

_log = logging.getLogger(__name__)


def now() -> str:
    """The time as reviews note it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class PendingReviews:
    """The reviews in a folder; those of other projects lie in the folders beside it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._store = ReviewStore(folder)
        self._waiting: dict[str, asyncio.Event] = {}

    def known(self) -> Iterator[Review]:
        """The reviews of this project, the one that changed last first."""
        return self._store.newest()

    def find(self, review_id: str | None) -> Review | None:
        """One by its id, by default the newest; None if there is no review.

        Raises:
            NotFoundError: no review has this id.
            ReviewStoreError: it cannot be read.
        """
        if review_id is None:
            return next(self.known(), None)
        try:
            return self._store.load(review_id)
        except NotFoundError as error:
            known = ", ".join(each.review_id for each in self.known())
            hint = f"known reviews: {known or 'none; call request_review first'}"
            raise NotFoundError(error.message, hint) from error

    def keep(self, review: Review) -> None:
        """Store one that a reviewer is going to be asked to look at.

        Raises:
            ReviewStoreError: it cannot be written.
        """
        self._store.save(msgspec.structs.replace(review, attention="waiting"))

    def note(self, review_id: str, attention: Attention) -> None:
        """Store the reviewer, unless feedback arrived meanwhile.

        Raises:
            ReviewStoreError: it cannot be read or written.
        """

        def noted(review: Review) -> Review:
            is_answered = review.attention == "answered"
            return review if is_answered else msgspec.structs.replace(review, attention=attention)

        self._store.change(review_id, noted)

    @contextmanager
    def listening(self, review_id: str) -> Generator[asyncio.Event]:
        """Something that is set when a word on a review comes."""
        word = self._waiting[review_id] = asyncio.Event()
        try:
            yield word
        finally:
            if self._waiting.get(review_id) is word:
                del self._waiting[review_id]

    async def watch(self, review_id: str, word: asyncio.Event) -> None:
        """Set it when another process has stored a word, until cancelled."""
        while True:
            if self._is_answered(review_id):
                word.set()
            await asyncio.sleep(LOOK_EVERY)

    def _is_answered(self, review_id: str) -> bool:
        try:
            return self._store.load(review_id).attention == "answered"
        except ExplainedError:
            # It was removed; the waiting tool reports that when it times out.
            return False

    def take(self, payload: Any) -> None:
        """Store what a person has said, and wake who waits for it.

        Raises:
            FeedbackError: it is no feedback.
            NotFoundError: the review is unknown.
            ReviewStoreError: the review cannot be read or written.
        """
        feedback = read_feedback(payload)
        if not any(store.take(feedback, now()) for store in self._stores(feedback)):
            raise NotFoundError(
                f"review {feedback.review_id!r} does not exist", "it may have been removed"
            )
        if feedback.review_id in self._waiting:
            self._waiting[feedback.review_id].set()

    async def hear(self, message: UserFeedback, asked: RequestContext) -> Ack:
        """Take what a person says over the bus.

        Raises:
            BusRefusedError: the review is unknown.
        """
        try:
            self.take(msgspec.to_builtins(message))
        except NotFoundError as error:
            _log.warning("feedback of %s is lost: %s", asked.by, error)
            raise BusRefusedError(error.message, "not_found", error.hint) from error
        return Ack()

    def _stores(self, feedback: Feedback) -> Iterator[ReviewStore]:
        """Candidate stores of the review; the bus may have chosen another project's server."""
        for folder in (self._folder, *sorted(self._folder.parent.glob("*/"))):
            store = ReviewStore(folder)
            if store.has(feedback.review_id):
                yield store

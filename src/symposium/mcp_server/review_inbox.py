"""Stored reviews of one project, and tools that wait for feedback (§4.8, §4.9)."""

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
"""Seconds between two checks for feedback that another process has received."""

_log = logging.getLogger(__name__)


def now() -> str:
    """Current time in the format of reviews."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class PendingReviews:
    """Reviews in a folder; other projects have folders next to it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._store = ReviewStore(folder)
        self._waiting: dict[str, asyncio.Event] = {}

    def known(self) -> Iterator[Review]:
        """Reviews of this project, the most recently changed first."""
        return self._store.newest()

    def find(self, review_id: str | None) -> Review | None:
        """Return a review by its id, by default the newest; None without reviews.

        Raises:
            NotFoundError: no review has this id.
            ReviewStoreError: the review cannot be read.
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
        """Store a review before its request.

        Raises:
            ReviewStoreError: the review cannot be written.
        """
        self._store.save(msgspec.structs.replace(review, attention="waiting"))

    def note(self, review_id: str, attention: Attention) -> None:
        """Store the reviewer, unless feedback arrived meanwhile.

        Raises:
            ReviewStoreError: the review cannot be read or written.
        """

        def noted(review: Review) -> Review:
            is_answered = review.attention == "answered"
            return review if is_answered else msgspec.structs.replace(review, attention=attention)

        self._store.change(review_id, noted)

    @contextmanager
    def listening(self, review_id: str) -> Generator[asyncio.Event]:
        """Yield an event that is set when feedback on a review arrives."""
        word = self._waiting[review_id] = asyncio.Event()
        try:
            yield word
        finally:
            if self._waiting.get(review_id) is word:
                del self._waiting[review_id]

    async def watch(self, review_id: str, word: asyncio.Event) -> None:
        """Set the event when another process has stored feedback, until canceled."""
        while True:
            if self._is_answered(review_id):
                word.set()
            await asyncio.sleep(LOOK_EVERY)

    def _is_answered(self, review_id: str) -> bool:
        try:
            return self._store.load(review_id).attention == "answered"
        except ExplainedError:
            # The review was removed; the waiting tool reports that at its timeout.
            return False

    def take(self, payload: Any) -> None:
        """Store feedback of the user, and wake the tools that wait for it.

        Raises:
            FeedbackError: the payload is not feedback.
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

    async def receive(self, message: UserFeedback, asked: RequestContext) -> Ack:
        """Receive feedback over the bus.

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

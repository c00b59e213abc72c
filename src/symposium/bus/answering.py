"""The answers of one peer at work: one task for each message, in the order of arrival."""

import asyncio
import logging
from collections.abc import Callable

from msgspec import UNSET, Raw

from localio.files import storage_error_text
from peerwire.errors import Boundary
from symposium.bus import refusals
from symposium.bus.answers import Answers, Asked, read_message
from symposium.bus.envelope import (
    Envelope,
    Outcome,
    Sender,
    envelope_of,
    response,
    success,
)
from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.cancel_request import CancelRequest
from symposium.bus.messages.progress import Progress
from symposium.bus.vocabulary import Message, PayloadError, payload_of, reply_type
from symposium.errors import BadValueError, NotFoundError, SymposiumError

_log = logging.getLogger(__name__)


class Answering:
    """Calls the functions of `answers`, and sends what they return; `run` owns its tasks."""

    def __init__(self, answers: Answers, sender: Sender, send: Callable[[Envelope], bool]) -> None:
        self._answers = answers
        self._sender = sender
        self._send = send
        self._tasks = asyncio.TaskGroup()
        self._working: dict[str, asyncio.Task[None]] = {}
        self._early: list[Envelope] = []
        self._is_open = False

    async def run(self) -> None:
        """Own the answers at work until cancelled; then they are, too."""
        async with self._tasks:
            self._is_open = True
            early, self._early = self._early, []
            for envelope in early:
                self.start(envelope)
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self._is_open = False

    def start(self, envelope: Envelope) -> None:
        """Answer this message, or hear it."""
        if not self._is_open:
            self._early.append(envelope)
            return
        task = self._tasks.create_task(self._answer(envelope))
        self._working[envelope.id] = task
        task.add_done_callback(lambda _: self._working.pop(envelope.id, None))

    def cancel(self, envelope: Envelope) -> None:
        """Whoever asked has gone on: end what its request has started."""
        try:
            request_id = CancelRequest.read(envelope.payload).request_id
        except PayloadError as error:
            _log.warning("unreadable cancellation: %s", error)
            return
        task = self._working.get(request_id)
        if task is not None:
            task.cancel()

    def cancel_all(self) -> None:
        """The wire is gone, and with it whoever asked."""
        for task in self._working.values():
            task.cancel()

    async def _answer(self, envelope: Envelope) -> None:
        outcome: Outcome | None = None
        # The one boundary: whatever an answer raises is its own, and must end nothing else.
        with Boundary() as boundary:
            outcome = await self._outcome(envelope)
        if boundary.error is not None:
            _log.error("%s failed", envelope.type, exc_info=boundary.error)
        if isinstance(boundary.error, OSError):
            # A full disk or a read-only home is no bug.
            text = f"{envelope.type} failed: {storage_error_text(boundary.error)}"
            outcome = Outcome(success=False, error=text, code=refusals.FAILED)
        elif boundary.error is not None:
            kind = type(boundary.error).__name__
            text = f"this is a bug of whoever answers {envelope.type}: {kind}: {boundary.error}"
            outcome = Outcome(success=False, error=text, code=refusals.FAILED)
        if outcome is not None:
            self._send(response(envelope.id, self._sender, outcome))

    async def _outcome(self, envelope: Envelope) -> Outcome | None:
        """What is answered; None for an announcement."""
        try:
            message = read_message(envelope)
        except (PayloadError, KeyError) as error:
            return _refused(f"{envelope.type}: {error}", refusals.BAD_PAYLOAD)
        respond = self._answers.find(message)
        if respond is None:
            return _refused(f"nobody here answers {envelope.type}", refusals.NO_HANDLER)
        try:
            reply = await respond(message, self._asked(envelope))
        except BusRefusedError as error:
            return _refused(error.message, error.code or refusals.FAILED)
        except SymposiumError as error:
            return _refused(str(error), _code_of(error))
        is_asked = message.about.type in self._answers.requests
        return success(_data(message, reply)) if is_asked else None

    def _asked(self, envelope: Envelope) -> Asked:
        def tell(text: str, done: float | None, total: float | None) -> None:
            news = Progress(request_id=envelope.id, message=text, done=done, total=total)
            self._send(envelope_of(news, self._sender))

        by = "" if envelope.from_ is UNSET else envelope.from_
        return Asked(envelope.id, envelope.sender, by, tell)


def _code_of(error: SymposiumError) -> str:
    match error:
        case NotFoundError():
            return refusals.NOT_FOUND
        case BadValueError():
            return refusals.BAD_VALUE
        case _:
            return refusals.FAILED


def _refused(text: str, code: str) -> Outcome:
    return Outcome(success=False, error=text, code=code)


def _data(message: Message, reply: object) -> Raw:
    expected = reply_type(type(message))
    if isinstance(expected, type) and not isinstance(reply, expected):
        raise TypeError(f"{message.about.type} is answered with {expected.__name__}: {reply!r}")
    return payload_of(reply)

"""Typed handlers of messages, and the tasks that run them.

This is how a part of the daemon, an editor's end or an MCP server takes part in the bus:

    answers = Answers()

    async def state(message: TaskspaceState, asked: Asked) -> TaskspaceInfo:
        if unknown:
            raise BusRefusedError("there is no such taskspace", "not_found")
        asked.progress("reading", done=1, total=2)        # news for the asker, if one likes
        return TaskspaceInfo(name=...)

    async def hatched(message: Polo, asked: Asked) -> None: ...

    answers.to(TaskspaceState, state)      # a request: what it returns is the reply's data
    answers.hear(Polo, hatched)            # an announcement

Each call runs in a task of its own, started in the order of arrival. A call whose asker goes, or
takes the request back, is cancelled. What a function raises becomes the error of the response:
`BusRefusedError` with its code, any other `SymposiumError` with code `failed`; anything else is a
bug, logged with its trace.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from msgspec import UNSET, Raw

from localio.errors import ExplainedError, ProgramNotFoundError
from localio.files import storage_error_text
from peerwire.errors import ErrorBoundary
from symposium.bus import envelope as refusals
from symposium.bus.envelope import BusOutcome, Envelope, Sender, envelope_of, response, success
from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.broker import CancelRequest, Progress
from symposium.bus.protocol import (
    Announcement,
    BusMessage,
    BusRequest,
    PayloadError,
    message_types,
    payload_of,
    reply_type,
)
from symposium.errors import BadValueError, NotFoundError

ProgressCallback: TypeAlias = Callable[[str, float | None, float | None], None]


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The sender of a message, for the function that answers it.

    Attributes:
        id: the request's.
        sender: where its sender says it stands.
        by: the connection that sent it, as the broker knows it.
        tell: takes news for the asker.
    """

    id: str
    sender: Sender
    by: str
    tell: ProgressCallback

    def progress(
        self, message: str, *, done: float | None = None, total: float | None = None
    ) -> None:
        """Send progress to the asker, without a response."""
        self.tell(message, done, total)


_Request = TypeVar("_Request", bound=BusRequest[Any])
_Heard = TypeVar("_Heard", bound=BusMessage)

Respond: TypeAlias = Callable[[Any, RequestContext], Awaitable[Any]]


class HandlerTable:
    """The functions of one peer, by message type."""

    def __init__(self) -> None:
        self.requests: dict[str, Respond] = {}
        """What answers each request."""
        self.announcements: dict[str, Respond] = {}
        """What hears each announcement."""

    def on_request(
        self, kind: type[_Request], respond: Callable[[_Request, RequestContext], Awaitable[Any]]
    ) -> None:
        """Answer requests of this class with this function.

        Raises:
            ValueError: another one answers them already.
        """
        if kind.about.type in self.requests:
            raise ValueError(f"{kind.about.type} is answered already")
        self.requests[kind.about.type] = respond

    def on_announcement(
        self, kind: type[_Heard], heard: Callable[[_Heard, RequestContext], Awaitable[None]]
    ) -> None:
        """Call this function for each announcement of this class.

        Also for each copy of a public request, which another peer answers.

        Raises:
            ValueError: it already has a listener, or no peer gets copies of this request.
        """
        if not issubclass(kind, Announcement) and not kind.about.is_public:
            raise ValueError(f"{kind.about.type} is a request that is not public")
        if kind.about.type in self.announcements:
            raise ValueError(f"{kind.about.type} is heard already")
        self.announcements[kind.about.type] = heard

    def extend(self, others: "HandlerTable") -> None:
        """Take over the functions of others.

        Raises:
            ValueError: both answer the same.
        """
        mine, theirs = (each.requests | each.announcements for each in (self, others))
        if both := mine.keys() & theirs.keys():
            raise ValueError(f"answered twice: {', '.join(sorted(both))}")
        self.requests.update(others.requests)
        self.announcements.update(others.announcements)

    @property
    def handles(self) -> frozenset[str]:
        """The request types answered here, older names of them too."""
        older = {
            name for name, kind in message_types().items() if kind.about.stands_for in self.requests
        }
        return frozenset(self.requests.keys() | older)

    @property
    def subscribes(self) -> frozenset[str]:
        """Message types to subscribe to for the announcements handled here."""
        return frozenset("*" if name == "traffic" else name for name in self.announcements)

    def find(self, message: BusMessage) -> Respond | None:
        """The function for this message."""
        type_ = message.about.type
        return self.requests.get(type_) or self.announcements.get(type_)


def read_message(envelope: Envelope) -> BusMessage:
    """The message of an envelope, under the name that is emitted (bus §1.11).

    Raises:
        PayloadError: its payload is not what its type says.
        KeyError: there is no such type.
    """
    return message_types()[envelope.type].read(envelope.payload).canonical()


_log = logging.getLogger(__name__)


class HandlerTasks:
    """Calls the functions of `answers`, and sends what they return; `run` owns its tasks."""

    def __init__(
        self, answers: HandlerTable, sender: Sender, send: Callable[[Envelope], bool]
    ) -> None:
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
        """The asker gave up: cancel the work for its request."""
        try:
            request_id = CancelRequest.read(envelope.payload).request_id
        except PayloadError as error:
            _log.warning("unreadable cancellation: %s", error)
            return
        task = self._working.get(request_id)
        if task is not None:
            task.cancel()

    def cancel_all(self) -> None:
        """The connection is closed, so no asker waits."""
        for task in self._working.values():
            task.cancel()

    async def _answer(self, envelope: Envelope) -> None:
        outcome: BusOutcome | None = None
        # The one boundary: whatever an answer raises is its own, and must end nothing else.
        with ErrorBoundary() as boundary:
            outcome = await self._outcome(envelope)
        if boundary.error is not None:
            _log.error("%s failed", envelope.type, exc_info=boundary.error)
        if isinstance(boundary.error, OSError):
            # A full disk or a read-only home is no bug.
            text = f"{envelope.type} failed: {storage_error_text(boundary.error)}"
            outcome = BusOutcome(success=False, error=text, code=refusals.FAILED)
        elif boundary.error is not None:
            kind = type(boundary.error).__name__
            text = f"this is a bug in the handler of {envelope.type}: {kind}: {boundary.error}"
            outcome = BusOutcome(success=False, error=text, code=refusals.FAILED)
        if outcome is not None:
            self._send(response(envelope.id, self._sender, outcome))

    async def _outcome(self, envelope: Envelope) -> BusOutcome | None:
        """The outcome to answer; None for an announcement."""
        try:
            message = read_message(envelope)
        except (PayloadError, KeyError) as error:
            return _refused(f"{envelope.type}: {error}", refusals.BAD_PAYLOAD)
        respond = self._answers.find(message)
        if respond is None:
            return _refused(f"no handler for {envelope.type}", refusals.NO_HANDLER)
        try:
            reply = await respond(message, self._asked(envelope))
        except BusRefusedError as error:
            return _refused(error.message, error.code or refusals.FAILED)
        except ExplainedError as error:
            return _refused(str(error), _code_of(error))
        is_asked = message.about.type in self._answers.requests
        return success(_data(message, reply)) if is_asked else None

    def _asked(self, envelope: Envelope) -> RequestContext:
        def tell(text: str, done: float | None, total: float | None) -> None:
            news = Progress(request_id=envelope.id, message=text, done=done, total=total)
            self._send(envelope_of(news, self._sender))

        by = "" if envelope.from_ is UNSET else envelope.from_
        return RequestContext(envelope.id, envelope.sender, by, tell)


def _code_of(error: ExplainedError) -> str:
    match error:
        case NotFoundError() | ProgramNotFoundError():
            return refusals.NOT_FOUND
        case BadValueError():
            return refusals.BAD_VALUE
        case _:
            return refusals.FAILED


def _refused(text: str, code: str) -> BusOutcome:
    return BusOutcome(success=False, error=text, code=code)


def _data(message: BusMessage, reply: object) -> Raw:
    expected = reply_type(type(message))
    if isinstance(expected, type) and not isinstance(reply, expected):
        raise TypeError(f"{message.about.type} is answered with {expected.__name__}: {reply!r}")
    return payload_of(reply)

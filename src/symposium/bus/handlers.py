"""Typed message handlers, and the tasks that run them.

Parts of the daemon, editor connections, and MCP servers register their handlers like this:

    handlers = HandlerTable()

    async def state(message: TaskspaceState, context: RequestContext) -> TaskspaceInfo:
        if unknown:
            raise BusRefusedError("unknown taskspace", "not_found")
        context.progress("reading", done=1, total=2)        # optional
        return TaskspaceInfo(name=...)

    async def started(message: Polo, context: RequestContext) -> None: ...

    handlers.on_request(TaskspaceState, state)    # the return value is the data of the reply
    handlers.on_announcement(Polo, started)

Each call runs in its own task; tasks start in the order of arrival. A call is canceled when its
requester cancels or disconnects. An exception becomes the error of the response: `BusRefusedError`
with its code, `NotFoundError` and `ProgramNotFoundError` with `not_found`, `BadValueError` with
`bad_value`, any other `ExplainedError` with `failed`. An `OSError` is reported as a problem of the
file system, anything else as a bug; both have the code `failed` and are logged with a traceback.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from msgspec import UNSET, Raw

from localio.errors import ExplainedError, ProgramNotFoundError
from localio.files import storage_error_text
from peerwire.errors import ErrorBoundary
from symposium.bus import error_codes
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
    """Context of a message, for its handler.

    Attributes:
        id: id of the request.
        sender: sender as claimed by the message.
        by: connection that sent it, set by the broker.
        tell: sends progress.
    """

    id: str
    sender: Sender
    by: str
    tell: ProgressCallback

    def progress(
        self, message: str, *, done: float | None = None, total: float | None = None
    ) -> None:
        """Send progress to the requester."""
        self.tell(message, done, total)


_Request = TypeVar("_Request", bound=BusRequest[Any])
_Message = TypeVar("_Message", bound=BusMessage)

Respond: TypeAlias = Callable[[Any, RequestContext], Awaitable[Any]]


class HandlerTable:
    """Handlers of one peer, by message type."""

    def __init__(self) -> None:
        self.requests: dict[str, Respond] = {}
        """Handlers of requests."""
        self.announcements: dict[str, Respond] = {}
        """Handlers of announcements."""

    def on_request(
        self, kind: type[_Request], respond: Callable[[_Request, RequestContext], Awaitable[Any]]
    ) -> None:
        """Call this function for each request of this class.

        Raises:
            ValueError: it already has a handler.
        """
        if kind.about.type in self.requests:
            raise ValueError(f"{kind.about.type} already has a handler")
        self.requests[kind.about.type] = respond

    def on_announcement(
        self, kind: type[_Message], handle: Callable[[_Message, RequestContext], Awaitable[None]]
    ) -> None:
        """Call this function for each announcement of this class.

        Public requests handled by another peer are allowed, too: it receives copies.

        Raises:
            ValueError: it already has a handler, or this request is not public.
        """
        if not issubclass(kind, Announcement) and not kind.about.is_public:
            raise ValueError(f"{kind.about.type} is a request that is not public")
        if kind.about.type in self.announcements:
            raise ValueError(f"{kind.about.type} already has a handler")
        self.announcements[kind.about.type] = handle

    def extend(self, others: "HandlerTable") -> None:
        """Add the handlers of another table.

        Raises:
            ValueError: both handle the same request.
        """
        mine, theirs = (each.requests | each.announcements for each in (self, others))
        if both := mine.keys() & theirs.keys():
            raise ValueError(f"two handlers for {', '.join(sorted(both))}")
        self.requests.update(others.requests)
        self.announcements.update(others.announcements)

    @property
    def handles(self) -> frozenset[str]:
        """Request types handled here, including older names."""
        older = {
            name for name, kind in message_types().items() if kind.about.alias_of in self.requests
        }
        return frozenset(self.requests.keys() | older)

    @property
    def subscribes(self) -> frozenset[str]:
        """Message types to subscribe to for the announcements handled here."""
        return frozenset("*" if name == "traffic" else name for name in self.announcements)

    def find(self, message: BusMessage) -> Respond | None:
        type_ = message.about.type
        return self.requests.get(type_) or self.announcements.get(type_)


def read_message(envelope: Envelope) -> BusMessage:
    """Decode the message of an envelope, converted from an older name (bus §1.11).

    Raises:
        PayloadError: the payload is malformed.
        KeyError: the type is unknown.
    """
    return message_types()[envelope.type].read(envelope.payload).canonical()


MAX_WORKING: Final = 10_000
"""Maximum messages of a peer that are handled at once or wait for `run`."""

_log = logging.getLogger(__name__)


class HandlerTasks:
    """Run the handlers and send their results; `run` owns the tasks."""

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
        self._has_dropped = False

    async def run(self) -> None:
        """Own the tasks of the handlers until canceled; then cancel them."""
        async with self._tasks:
            self._is_open = True
            early, self._early = self._early, []
            for envelope in early:
                self._begin(envelope)
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self._is_open = False

    def start(self, envelope: Envelope) -> None:
        """Run the handler of a message; beyond `MAX_WORKING`, refuse or drop the message."""
        if len(self._early) + len(self._working) >= MAX_WORKING:
            self._reject(envelope)
            return
        self._has_dropped = False
        if self._is_open:
            self._begin(envelope)
        else:
            self._early.append(envelope)

    def _begin(self, envelope: Envelope) -> None:
        task = self._tasks.create_task(self._answer(envelope))
        self._working[envelope.id] = task
        task.add_done_callback(lambda _: self._working.pop(envelope.id, None))

    def _reject(self, envelope: Envelope) -> None:
        if envelope.type in self._answers.handles:
            text = f"{envelope.type}: {MAX_WORKING} messages are being handled; try again"
            outcome = _error_outcome(text, error_codes.TOO_MANY)
            self._send(response(envelope.id, self._sender, outcome))
        elif not self._has_dropped:
            # Once, because the next thousands of messages would log the same.
            _log.warning("dropped %s: %d messages are being handled", envelope.type, MAX_WORKING)
            self._has_dropped = True

    def cancel(self, envelope: Envelope) -> None:
        """Cancel the handler of a request that its requester canceled."""
        try:
            request_id = CancelRequest.read(envelope.payload).request_id
        except PayloadError as error:
            _log.warning("unreadable cancellation: %s", error)
            return
        task = self._working.get(request_id)
        if task is not None:
            task.cancel()

    def cancel_all(self) -> None:
        """Cancel every handler: the connection is closed, so no requester waits."""
        for task in self._working.values():
            task.cancel()

    async def _answer(self, envelope: Envelope) -> None:
        outcome: BusOutcome | None = None
        # Error boundary: an exception in a handler must not end anything else.
        with ErrorBoundary() as boundary:
            outcome = await self._outcome(envelope)
        if boundary.error is not None:
            _log.error("%s failed", envelope.type, exc_info=boundary.error)
        if isinstance(boundary.error, OSError):
            # A full disk or a read-only home directory is not a bug.
            text = f"{envelope.type} failed: {storage_error_text(boundary.error)}"
            outcome = BusOutcome(success=False, error=text, code=error_codes.FAILED)
        elif boundary.error is not None:
            kind = type(boundary.error).__name__
            text = f"this is a bug in the handler of {envelope.type}: {kind}: {boundary.error}"
            outcome = BusOutcome(success=False, error=text, code=error_codes.FAILED)
        if outcome is not None:
            self._send(response(envelope.id, self._sender, outcome))

    async def _outcome(self, envelope: Envelope) -> BusOutcome | None:
        """Outcome of a request; None for an announcement."""
        try:
            message = read_message(envelope)
        except (PayloadError, KeyError) as error:
            return _error_outcome(f"{envelope.type}: {error}", error_codes.BAD_PAYLOAD)
        respond = self._answers.find(message)
        if respond is None:
            return _error_outcome(f"no handler for {envelope.type}", error_codes.NO_HANDLER)
        try:
            reply = await respond(message, self._context(envelope))
        except BusRefusedError as error:
            return _error_outcome(error.message, error.code or error_codes.FAILED)
        except ExplainedError as error:
            return _error_outcome(str(error), _code_of(error))
        is_asked = message.about.type in self._answers.requests
        return success(_data(message, reply)) if is_asked else None

    def _context(self, envelope: Envelope) -> RequestContext:
        def tell(text: str, done: float | None, total: float | None) -> None:
            news = Progress(request_id=envelope.id, message=text, done=done, total=total)
            self._send(envelope_of(news, self._sender))

        by = "" if envelope.from_ is UNSET else envelope.from_
        return RequestContext(envelope.id, envelope.sender, by, tell)


def _code_of(error: ExplainedError) -> str:
    match error:
        case NotFoundError() | ProgramNotFoundError():
            return error_codes.NOT_FOUND
        case BadValueError():
            return error_codes.BAD_VALUE
        case _:
            return error_codes.FAILED


def _error_outcome(text: str, code: str) -> BusOutcome:
    return BusOutcome(success=False, error=text, code=code)


def _data(message: BusMessage, reply: object) -> Raw:
    expected = reply_type(type(message))
    if isinstance(expected, type) and not isinstance(reply, expected):
        raise TypeError(f"the reply to {message.about.type} must be {expected.__name__}: {reply!r}")
    return payload_of(reply)

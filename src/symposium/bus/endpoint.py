"""One end of the bus over any connection: send requests and answer them.

The socket client uses it, and the daemon for parts in its own process.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

import msgspec
from msgspec import UNSET

from symposium.bus import error_codes
from symposium.bus.envelope import (
    Address,
    BusOutcome,
    Envelope,
    EnvelopeError,
    Sender,
    envelope_of,
    read_envelope,
    read_outcome,
)
from symposium.bus.errors import (
    BusEndedError,
    BusError,
    BusLostError,
    BusReconnectingError,
    BusRefusedError,
    BusUnreachableError,
)
from symposium.bus.handlers import HandlerTable, HandlerTasks
from symposium.bus.messages.broker import CancelRequest, Progress
from symposium.bus.protocol import (
    Announcement,
    BusMessage,
    BusRequest,
    PayloadError,
    read_as,
    read_reply,
)

CONNECT_TIMEOUT: Final = 10.0
"""Seconds that a request waits for a connection before it fails unsent."""

GRACE: Final = 5.0
"""Seconds after a request's deadline in which the broker may still report a timeout."""

OnProgress = Callable[[Progress], None]
"""Receives progress of a request without a response."""

_Answer = TypeVar("_Answer")
_log = logging.getLogger(__name__)


def _future() -> asyncio.Future[BusOutcome]:
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True)
class Pending:
    """A pending request.

    Attributes:
        kind: message class.
        envelope: the sent envelope.
        outcome: future of the response.
        on_progress: receives progress, if any.
        is_sent: whether it may have reached a peer.
        limit: seconds that the caller waits for the response, if shorter than the type's timeout.
        connect_timeout: seconds to wait for a connection.
        until: deadline of the current wait.
    """

    kind: type[BusMessage]
    envelope: Envelope | None = None
    outcome: asyncio.Future[BusOutcome] = field(default_factory=_future)
    on_progress: OnProgress | None = None
    is_sent: bool = False
    limit: float | None = None
    connect_timeout: float = CONNECT_TIMEOUT
    until: asyncio.Timeout | None = None

    @property
    def timeout(self) -> float:
        """Seconds to wait: for the response once sent, else for a connection.

        The timeout of the message type applies to every caller; a caller can only shorten it.
        """
        longest = self.kind.about.budget + GRACE if self.is_sent else self.connect_timeout
        return longest if self.limit is None else min(self.limit, longest)

    def restart_clock(self) -> None:
        """Wait for the full timeout again, after sending or after losing the connection."""
        if self.until is not None:
            self.until.reschedule(asyncio.get_running_loop().time() + self.timeout)


class Bus(Protocol):
    """The bus, for a sender of requests."""

    async def request(
        self,
        message: BusRequest[_Answer],
        *,
        to: Address | None = None,
        on_progress: OnProgress | None = None,
        timeout: float | None = None,
    ) -> _Answer:
        """Send a request and wait for the reply; see `BusEndpoint.request`.

        Raises:
            BusError: there is no reply; the class gives the cause.
        """
        ...


class BusEndpoint:
    """Send messages with `send`, receive them with `take`; `run` owns the tasks."""

    def __init__(
        self,
        answers: HandlerTable,
        sender: Sender,
        send: Callable[[Envelope], bool],
        *,
        connect_timeout: float = CONNECT_TIMEOUT,
    ) -> None:
        self._sender = sender
        self._send = send
        self._connect_timeout = connect_timeout
        self._pending: dict[str, Pending] = {}
        self._opening: Pending | None = None
        self._final: Exception | None = None
        self._answering = HandlerTasks(answers, sender, send)
        self.disconnect_reason = ""
        """Why there is no connection; empty while connected."""

    async def run(self) -> None:
        """Own the tasks of the handlers until canceled."""
        await self._answering.run()

    async def request(
        self,
        message: BusRequest[_Answer],
        *,
        to: Address | None = None,
        on_progress: OnProgress | None = None,
        timeout: float | None = None,
    ) -> _Answer:
        """Send a request and wait for the reply.

        Args:
            message: the request.
            to: receiver; None: by the message's class.
            on_progress: receives progress until the reply.
            timeout: seconds to wait for the reply, if shorter than the class's timeout.

        Raises:
            BusRefusedError: the reply is an error, or did not arrive in time (code `timeout`).
            BusLostError: the connection was lost; the outcome is unknown.
            BusReconnectingError: no connection in time; nothing was sent.
        """
        kind = type(message)
        envelope = envelope_of(message, self._sender, to=to)
        outcome = await self._ask(envelope, Pending(kind, on_progress=on_progress), timeout)
        return _reply(kind, outcome)

    async def post(
        self, message: Announcement, *, to: Address | None = None, timeout: float | None = None
    ) -> int:
        """Send an announcement and wait for delivery; the number of receivers.

        Raises:
            BusRefusedError: the broker refuses it.
            BusReconnectingError: no connection in time.
        """
        plain = envelope_of(message, self._sender, to=to)
        envelope = msgspec.structs.replace(plain, ack=True)
        outcome = await self._ask(envelope, Pending(type(message)), timeout)
        if not outcome.success or outcome.data is UNSET:
            raise BusRefusedError(outcome.error or "", outcome.code or "")
        return read_as(dict[str, int], outcome.data)["delivered"]

    async def _ask(self, envelope: Envelope, pending: Pending, timeout: float | None) -> BusOutcome:
        if self._final is not None:
            raise self._final
        pending.envelope = envelope
        pending.limit, pending.connect_timeout = timeout, self._connect_timeout
        self._pending[envelope.id] = pending
        pending.is_sent = self._send(envelope)
        try:
            async with asyncio.timeout(pending.timeout) as pending.until:
                return await pending.outcome
        except TimeoutError as error:
            was_sent = pending.is_sent
            self._withdraw(envelope.id)
            raise _late(pending.kind, None if was_sent else self.disconnect_reason) from error
        except asyncio.CancelledError:
            self._withdraw(envelope.id)
            raise
        finally:
            self._pending.pop(envelope.id, None)

    async def first(self, message: BusRequest[_Answer]) -> _Answer:
        """Send a request that must be answered first on a new connection.

        Raises:
            BusRefusedError: the reply is an error.
            BusUnreachableError: no reply, or the connection ends first.
        """
        kind = type(message)
        envelope = envelope_of(message, self._sender)
        self._opening = Pending(kind)
        try:
            outcome = await self._ask(envelope, self._opening, message.about.budget)
        except BusRefusedError as error:
            text = f"the daemon is running, but does not answer {message.about.type}"
            raise BusUnreachableError(text, "symposium daemon stop; then retry") from error
        finally:
            self._opening = None
        return _reply(kind, outcome)

    def broken(self) -> None:
        """Fail the opening request: the connection ended before its reply."""
        if self._opening is not None:
            type_ = self._opening.kind.about.type
            text = f"the daemon closed the connection before it answered {type_}"
            _fail(self._opening, BusEndedError(text, "symposium daemon logs"))

    def announce(self, message: Announcement, *, to: Address | None = None) -> None:
        """Send an announcement; drop it while there is no connection."""
        self._send(envelope_of(message, self._sender, to=to))

    def lost(self, reason: str) -> None:
        """Fail requests that must not be sent twice; keep the rest for `resend`."""
        self.disconnect_reason = reason
        self._answering.cancel_all()
        for pending in self._pending.values():
            if not pending.is_sent:
                continue
            pending.is_sent = False
            if not pending.kind.about.is_idempotent:
                type_ = pending.kind.about.type
                text = f"connection to the bus lost ({reason}) while waiting for {type_}"
                hint = "the outcome is unknown; check, then retry"
                _fail(pending, BusLostError(text, hint))
            else:
                pending.restart_clock()

    def resend(self) -> None:
        """Send the pending requests again on the new connection."""
        self.disconnect_reason = ""
        for pending in self._pending.values():
            if pending.is_sent or pending.envelope is None:
                continue
            if self._send(pending.envelope):
                pending.is_sent = True
                pending.restart_clock()

    def give_up(self, error: Exception) -> None:
        """Fail every request, also later ones: there will be no new connection."""
        self._final = error
        for pending in self._pending.values():
            _fail(pending, error)

    def take(self, message: bytes | Envelope) -> None:
        """Handle a received message, as a line or already decoded."""
        try:
            envelope = message if isinstance(message, Envelope) else read_envelope(message)
        except EnvelopeError as error:
            _log.warning("ignored a malformed message from the bus: %s", error)
            return
        match envelope.type:
            case "response":
                self._settle(envelope)
            case "progress":
                self._tell(envelope)
            case "cancel_request":
                self._answering.cancel(envelope)
            case _:
                self._answering.start(envelope)

    def _withdraw(self, request_id: str) -> None:
        pending = self._pending.pop(request_id, None)
        if pending is not None and pending.is_sent and pending.kind.about.type != "hello":
            self.announce(CancelRequest(request_id=request_id))

    def _settle(self, envelope: Envelope) -> None:
        pending = self._pending.pop(envelope.id, None)
        try:
            outcome = read_outcome(envelope)
        except EnvelopeError as error:
            outcome = BusOutcome(success=False, error=str(error), code=error_codes.BAD_PAYLOAD)
        if pending is None:
            if not outcome.success:
                _log.warning("the bus refused %s: %s", envelope.id, outcome.error)
        elif not pending.outcome.done():
            pending.outcome.set_result(outcome)

    def _tell(self, envelope: Envelope) -> None:
        try:
            news = Progress.read(envelope.payload)
        except PayloadError as error:
            _log.warning("unreadable progress: %s", error)
            return
        pending = self._pending.get(news.request_id)
        if pending is not None and pending.on_progress is not None:
            pending.on_progress(news)


def _late(kind: type[BusMessage], reason: str | None) -> BusError:
    """Error for a missing response: sent without an answer, or not sent for a reason."""
    type_ = kind.about.type
    if reason is None:
        return BusRefusedError(f"{type_} timed out", error_codes.TIMEOUT)
    text = f"bus reconnecting: {reason}"
    hint = f"nothing was done: {type_} was not sent; try again in a moment"
    return BusReconnectingError(text, hint)


def _reply(kind: type[BusRequest[_Answer]], outcome: BusOutcome) -> _Answer:
    if not outcome.success:
        raise BusRefusedError(outcome.error or "", outcome.code or "")
    try:
        return read_reply(kind, outcome.data)
    except PayloadError as error:
        text = f"malformed reply to {kind.about.type}: {error}"
        raise BusRefusedError(text, error_codes.BAD_PAYLOAD) from error


def _fail(pending: Pending, error: Exception) -> None:
    if not pending.outcome.done():
        pending.outcome.set_exception(error)

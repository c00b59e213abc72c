"""One peer's part in the bus, over any wire: what it asks, and what it answers.

Both ends use it: the client behind a socket, and the daemon for the parts inside it.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

import msgspec
from msgspec import UNSET

from symposium.bus import envelope as refusals
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
"""Seconds that a request waits for a connection before it fails without being sent."""

GRACE: Final = 5.0
"""Seconds beyond a request's budget in which the broker may say that it is over."""

OnProgress = Callable[[Progress], None]
"""Takes news of a request that is not answered yet."""

_Answer = TypeVar("_Answer")
_log = logging.getLogger(__name__)


def _future() -> asyncio.Future[BusOutcome]:
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True)
class Pending:
    """A pending request.

    Attributes:
        kind: its class.
        envelope: the sent envelope.
        outcome: what its response will say.
        on_progress: who wants the news.
        is_sent: whether it may have reached a peer.
        limit: seconds that the caller waits for an answer, if shorter than the type's budget.
        connect_timeout: seconds to wait for a connection.
        until: when we stop waiting.
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
        """Seconds to wait: for the answer once it is sent, else for a connection.

        The budget of the message type bounds every caller; a caller can only wait less.
        """
        longest = self.kind.about.budget + GRACE if self.is_sent else self.connect_timeout
        return longest if self.limit is None else min(self.limit, longest)

    def restart_clock(self) -> None:
        """Wait for the whole timeout from now on: it was sent, or its connection was lost."""
        if self.until is not None:
            self.until.reschedule(asyncio.get_running_loop().time() + self.timeout)


class BusEndpoint:
    """Sends what we ask through `send`, and is given what comes by `take`; `run` owns its tasks."""

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
        self._answering = HandlerTasks(answers, sender, send)
        self.trouble = ""
        """Reason for the missing connection; empty while connected."""

    async def run(self) -> None:
        """Own the answers at work until cancelled."""
        await self._answering.run()

    async def request(
        self,
        message: BusRequest[_Answer],
        *,
        to: Address | None = None,
        on_progress: OnProgress | None = None,
        patience: float | None = None,
    ) -> _Answer:
        """Ask, and wait for the reply.

        Args:
            message: what to ask.
            to: whom; by the message's class if None.
            on_progress: takes news meanwhile.
            patience: seconds to wait for the answer, if shorter than the class's budget.

        Raises:
            BusRefusedError: the answer is an error, or did not come in time (code `timeout`).
            BusLostError: the connection was lost, and it is not known whether it was done.
            BusReconnectingError: there is no connection, and none came in time; nothing was sent.
        """
        kind = type(message)
        envelope = envelope_of(message, self._sender, to=to)
        outcome = await self._ask(envelope, Pending(kind, on_progress=on_progress), patience)
        return _reply(kind, outcome)

    async def post(
        self, message: Announcement, *, to: Address | None = None, patience: float | None = None
    ) -> int:
        """Send an announcement and wait for delivery; the number of receivers.

        Raises:
            BusRefusedError: the broker does not pass it on.
            BusReconnectingError: there is no connection, and none came in time.
        """
        plain = envelope_of(message, self._sender, to=to)
        envelope = msgspec.structs.replace(plain, ack=True)
        outcome = await self._ask(envelope, Pending(type(message)), patience)
        if not outcome.success or outcome.data is UNSET:
            raise BusRefusedError(outcome.error or "", outcome.code or "")
        return read_as(dict[str, int], outcome.data)["delivered"]

    async def _ask(
        self, envelope: Envelope, pending: Pending, patience: float | None
    ) -> BusOutcome:
        pending.envelope = envelope
        pending.limit, pending.connect_timeout = patience, self._connect_timeout
        self._pending[envelope.id] = pending
        pending.is_sent = self._send(envelope)
        try:
            async with asyncio.timeout(pending.timeout) as pending.until:
                return await pending.outcome
        except TimeoutError as error:
            was_sent = pending.is_sent
            self._withdraw(envelope.id)
            raise _late(pending.kind, None if was_sent else self.trouble) from error
        except asyncio.CancelledError:
            self._withdraw(envelope.id)
            raise
        finally:
            self._pending.pop(envelope.id, None)

    async def first(self, message: BusRequest[_Answer]) -> _Answer:
        """Ask what must be answered on a new connection before anything else.

        Raises:
            BusRefusedError: the answer is an error.
            BusUnreachableError: none comes, or the connection ends before.
        """
        kind = type(message)
        envelope = envelope_of(message, self._sender)
        self._opening = Pending(kind)
        try:
            outcome = await self._ask(envelope, self._opening, message.about.budget)
        except BusRefusedError as error:
            text = f"the daemon is there, and does not answer {message.about.type}"
            raise BusUnreachableError(text, "symposium daemon stop; then retry") from error
        finally:
            self._opening = None
        return _reply(kind, outcome)

    def broken(self) -> None:
        """The connection has ended: what has opened it will not be answered."""
        if self._opening is not None:
            type_ = self._opening.kind.about.type
            text = f"the daemon has ended the connection before it answered {type_}"
            _fail(self._opening, BusEndedError(text, "symposium daemon logs"))

    def announce(self, message: Announcement, *, to: Address | None = None) -> None:
        """Send an announcement; drop it while there is no connection."""
        self._send(envelope_of(message, self._sender, to=to))

    def lost(self, reason: str) -> None:
        """The wire is gone: what may not be asked twice has failed, the rest waits for `resend`."""
        self.trouble = reason
        self._answering.cancel_all()
        for pending in self._pending.values():
            if not pending.is_sent:
                continue
            pending.is_sent = False
            if not pending.kind.about.is_idempotent:
                type_ = pending.kind.about.type
                text = f"the bus was lost ({reason}) while {type_} was on its way"
                hint = "whether it was done is not known; look, then ask again"
                _fail(pending, BusLostError(text, hint))
            else:
                pending.restart_clock()

    def resend(self) -> None:
        """The wire is there again: ask what is still waiting."""
        self.trouble = ""
        for pending in self._pending.values():
            if pending.is_sent or pending.envelope is None:
                continue
            if self._send(pending.envelope):
                pending.is_sent = True
                pending.restart_clock()

    def give_up(self, error: Exception) -> None:
        """The wire will not come back: everything that waits has failed."""
        for pending in self._pending.values():
            _fail(pending, error)

    def take(self, message: bytes | Envelope) -> None:
        """One message has come, as a line or read already."""
        try:
            envelope = message if isinstance(message, Envelope) else read_envelope(message)
        except EnvelopeError as error:
            _log.warning("the bus sent what is no message: %s", error)
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
            outcome = BusOutcome(success=False, error=str(error), code=refusals.BAD_PAYLOAD)
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


def _late(kind: type[BusMessage], trouble: str | None) -> BusError:
    """No answer has come: it was sent and not answered, or there is this trouble."""
    type_ = kind.about.type
    if trouble is None:
        return BusRefusedError(f"{type_} was not answered in its time", refusals.TIMEOUT)
    text = f"bus reconnecting: {trouble}"
    hint = f"nothing was done: {type_} was not sent; try again in a moment"
    return BusReconnectingError(text, hint)


def _reply(kind: type[BusRequest[_Answer]], outcome: BusOutcome) -> _Answer:
    if not outcome.success:
        raise BusRefusedError(outcome.error or "", outcome.code or "")
    try:
        return read_reply(kind, outcome.data)
    except PayloadError as error:
        text = f"the reply to {kind.about.type} is not what it should be: {error}"
        raise BusRefusedError(text, refusals.BAD_PAYLOAD) from error


def _fail(pending: Pending, error: Exception) -> None:
    if not pending.outcome.done():
        pending.outcome.set_exception(error)

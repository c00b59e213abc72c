"""One end of a JSON-RPC connection: requests, responses, and notifications.

It does not know what a method means, except `$/cancel_request`, or how a transport moves lines.

For endpoints: agents, clients, and tests. Programs that only forward messages do not decode them,
and do not use this module.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import UNSET, UnsetType

from peerwire.errors import ConnectionClosedError
from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.handlers import Handlers
from peerwire.jsonrpc.requests import (
    CANCEL_REQUEST,
    Failure,
    IncomingQueue,
    IncomingRequests,
    OutgoingRequests,
)
from peerwire.jsonrpc.transport import MAX_LINE, OversizedLine, Transport
from peerwire.jsonrpc.values import Body, encode_value

MAX_BACKLOG: Final = 2 * MAX_LINE
"""Maximum unread bytes of a peer; it is disconnected if it leaves more.

Reading never stops for a backlog: two peers that both stop would deadlock.
"""

_log = logging.getLogger(__name__)


class Connection:
    """Connection to a peer over one transport; `run` owns all its tasks."""

    def __init__(
        self, transport: Transport, handlers: Handlers, *, max_backlog: int = MAX_BACKLOG
    ) -> None:
        self._transport = transport
        self._max_backlog = max_backlog
        self._tasks = asyncio.TaskGroup()
        self._answering = IncomingRequests(handlers, self._tasks)
        self._open = OutgoingRequests()
        self._inbox = IncomingQueue(transport, self._answering, self._open, self._send)
        self._ending: str | None = None
        self._unanswered = 0
        self._error: Exception | None = None
        self._ended = asyncio.Event()

    @property
    def error(self) -> Exception | None:
        """Error that broke the connection; None while it is open or after a clean end."""
        return self._error

    async def run(self) -> None:
        """Serve until the peer ends the connection or the caller cancels.

        Afterwards no task is running, and all messages were sent.
        """
        try:
            async with self._tasks:
                try:
                    self._transport.start(self)
                    await self._ended.wait()
                finally:
                    self._stop()
        finally:
            await self._transport.aclose()

    def close(self) -> None:
        """End `run`; messages sent before are still written."""
        self._ended.set()

    async def drain(self) -> None:
        """Wait until the peer has read most of the messages, to limit the backlog."""
        await self._transport.drain()

    async def request(
        self, method: str, params: Any = None, *, on_result: Callable[[Any], None] | None = None
    ) -> Any:
        """Send a request and wait for the result; cancellation also cancels the request.

        Args:
            method: name of the method.
            params: any JSON value; None sends no params.
            on_result: called with the result before any later message of the peer is handled.

        Raises:
            RpcError: the peer answered with an error.
            ConnectionClosedError: the connection ended before the answer.
        """
        body = _body(params)
        key, answer = self._open.add(on_result)
        self._send(wire.request(key, method, body))
        try:
            outcome = await answer
        except asyncio.CancelledError:
            if self._open.give_up(key):
                self.notify(CANCEL_REQUEST, {"requestId": int(key)})
            raise
        if isinstance(outcome, Failure):
            raise outcome.error
        return outcome

    def post(self, method: str, params: Any = None) -> None:
        """Send a request and ignore its response; it cannot be canceled."""
        self._send(wire.request(self._open.skip(), method, _body(params)))

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification; does nothing after the connection has ended."""
        self._send(wire.notification(method, _body(params)))

    def _send(self, line: bytes) -> None:
        self._transport.send(line)
        if self._transport.backlog > self._max_backlog and self._ending is None:
            reason = f"the peer has left more than {self._max_backlog} bytes unread"
            self.ended(ConnectionClosedError(reason))

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        """Handle lines of the peer, in order."""
        self._inbox.receive(lines)

    def writing_paused(self) -> None:
        """The peer is slow to read; `drain` waits."""

    def writing_resumed(self) -> None:
        """The peer has caught up."""

    def ended(self, error: Exception | None) -> None:
        """Note the end of the peer's output; lines received before are still handled."""
        if self._ending is None:
            self._error = error
            self._ending = "the peer ended the connection"
            if error is not None:
                self._ending = f"the connection broke: {error}"
                _log.warning("%s", self._ending)
            self._inbox.when_empty(self._end)

    def _end(self) -> None:
        self._unanswered += self._open.fail_all(self._ending or "")
        self._ended.set()

    def _stop(self) -> None:
        # Canceled handlers still reply, but no more lines are handled.
        self._inbox.close()
        self._ending = self._ending or "the connection has ended"
        self._unanswered += self._open.fail_all(self._ending)
        cut_short = self._answering.stop()
        if self._unanswered or cut_short:
            text = "the connection ended with %d sent and %d received requests unanswered"
            _log.info(text, self._unanswered, cut_short)


def _body(params: Any) -> Body | UnsetType:
    return UNSET if params is None else encode_value(params)

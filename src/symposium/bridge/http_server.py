"""HTTP connections of an endpoint, and the session of one client."""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final
from uuid import uuid4

import h11
from msgspec import UNSET

from peerwire.errors import INTERNAL_ERROR, RpcError
from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.messages import Message
from peerwire.jsonrpc.values import decode_value, encode_value
from symposium.bridge.requests_in_flight import CANCELLED, CancelledByPeerError, InFlight
from symposium.bridge.tunnel import Tunnel, Tunnels, unknown_connection

MAX_HEAD: Final = 16 * 1024
"""Maximum size of a request's head, in bytes; agents send far less."""

HTTP_REQUEST_TIMEOUT: Final = 30.0
"""Seconds to send the rest of a started request."""

IDLE: Final = 300.0
"""Seconds that a connection stays open for the next request."""

IDLE_UNPROVEN: Final = 10.0
"""Seconds that a new connection stays open for its first request."""

UNREAD: Final = 8 * 1024 * 1024
"""Maximum size of unread events, in bytes; beyond it, the client counts as disconnected."""

LINGER: Final = 1.0
"""Seconds to read the response to a request that was not read completely."""

LINGERING: Final = 1024 * 1024
"""Maximum number of bytes received in that time."""

_READ: Final = 64 * 1024

Headers = Sequence[tuple[str, str]]


def event(data: bytes) -> bytes:
    """One message as an event; `data` is JSON on one line."""
    return b"event: message\ndata: %b\n\n" % data


class BodyTooLongError(Exception):
    """The body of a request is too long and was not read completely."""


class HttpConversation:
    """Consecutive requests and responses on one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)

    async def next_request(self, idle: float = IDLE) -> h11.Request | None:
        """Head of the next request; None at the end.

        Args:
            idle: seconds until it must begin.

        Raises:
            h11.RemoteProtocolError: the request is malformed.
            TimeoutError: no request, or only a part of one, arrives in time.
        """
        has_begun = False
        async with asyncio.timeout(idle) as scope:
            while (found := self._http.next_event()) is h11.NEED_DATA:
                data = await self._reader.read(_READ)
                if data and not has_begun:
                    has_begun = True
                    scope.reschedule(asyncio.get_running_loop().time() + HTTP_REQUEST_TIMEOUT)
                self._http.receive_data(data)
        return found if isinstance(found, h11.Request) else None

    async def body(self, limit: int) -> bytes:
        """Body of the request.

        Raises:
            BodyTooLongError: it is longer than `limit` bytes.
            h11.RemoteProtocolError: it contradicts the head.
            TimeoutError: only a part of it arrives in time.
        """
        chunks: list[bytes] = []
        size = 0
        async with asyncio.timeout(HTTP_REQUEST_TIMEOUT) as scope:
            while True:
                match found := self._http.next_event():
                    case h11.NEED_DATA:
                        if self._http.they_are_waiting_for_100_continue:
                            self._send(h11.InformationalResponse(status_code=100, headers=[]))
                        self._http.receive_data(await self._reader.read(_READ))
                        scope.reschedule(asyncio.get_running_loop().time() + HTTP_REQUEST_TIMEOUT)
                    case h11.Data():
                        size += len(found.data)
                        if size > limit:
                            raise BodyTooLongError
                        chunks.append(bytes(found.data))
                    case _:
                        return b"".join(chunks)

    async def answer(self, status: int, headers: Headers = (), body: bytes = b"") -> None:
        """Send a complete response, even before the request is read completely."""
        self._head(status, [*headers, ("Content-Length", str(len(body)))])
        if body:
            self._send(h11.Data(data=body))
        self._send(h11.EndOfMessage())
        await self._writer.drain()

    def begin_events(self, headers: Headers = ()) -> None:
        """Start a response of events."""
        kind = [("Content-Type", "text/event-stream"), ("Cache-Control", "no-store")]
        self._head(200, [*kind, *headers])

    def send_event(self, data: bytes) -> bool:
        """Send an event; False if the client disconnected."""
        if self._writer.is_closing() or self._http.our_state is not h11.SEND_BODY:
            return False
        if self._writer.transport.get_write_buffer_size() > UNREAD:
            self._writer.transport.abort()
            return False
        self._send(h11.Data(data=event(data)))
        return True

    async def end_events(self) -> None:
        """End the event stream and wait until it is written."""
        if self._http.our_state is h11.SEND_BODY:
            self._send(h11.EndOfMessage())
        await self._writer.drain()

    async def gone(self) -> None:
        """Wait until either side closes the connection."""
        while await self._reader.read(_READ):
            pass

    def next_cycle(self) -> bool:
        """Prepare for the next request; False if the connection must close."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    @property
    def can_answer(self) -> bool:
        """Whether a response can still be started."""
        return self._http.our_state in {h11.IDLE, h11.SEND_RESPONSE}

    async def linger(self) -> None:
        """Let the client read its response before closing on unread input, which resets it."""
        if not self._writer.is_closing() and self._writer.can_write_eof():
            self._writer.write_eof()
        left = LINGERING
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                while left > 0 and (data := await self._reader.read(_READ)):
                    left -= len(data)

    def close(self) -> None:
        """Close the connection; written data is still sent."""
        self._writer.close()

    def _head(self, status: int, headers: list[tuple[str, str]]) -> None:
        # The rest of a rejected request is not read, so the connection must close.
        if self._http.their_state not in {h11.DONE, h11.MUST_CLOSE}:
            headers.append(("Connection", "close"))
        self._send(h11.Response(status_code=status, headers=headers))

    def _send(self, written: h11.Event) -> None:
        self._writer.write(self._http.send(written) or b"")


MAX_QUEUED: Final = 1024 * 1024
"""Maximum size of server messages that wait for a stream, in bytes."""


class McpHttpSession:
    """Session of one MCP client of the agent.

    Attributes:
        session_id: the value of `Mcp-Session-Id` in responses.
        is_open: False once either side ended it.
    """

    def __init__(self, tunnels: Tunnels, server_id: str) -> None:
        self.session_id = uuid4().hex
        self.is_open = True
        self._tunnels = tunnels
        self._server_id = server_id
        self._tunnel: Tunnel | None = None
        self._opening = asyncio.Lock()
        self._in_flight = InFlight()
        self._get: HttpConversation | None = None
        self._posts: list[HttpConversation] = []
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._asked: dict[bytes, asyncio.Future[Message]] = {}
        self._last_id = 0

    @property
    def is_connected(self) -> bool:
        """Whether it has a tunnel that is still open."""
        return self._tunnel is not None and self.is_open

    @property
    def is_busy(self) -> bool:
        """Whether it has an open stream, or is connecting to its server."""
        return self._get is not None or bool(self._posts) or self._opening.locked()

    async def ready(self) -> Tunnel:
        """Return the tunnel; open it first if necessary.

        Raises:
            RpcError: the server has no owner, or the session ended.
        """
        async with self._opening:
            if self._tunnel is None and self.is_open:
                tunnel = await self._tunnels.open(self._server_id, self)
                if not self.is_open:
                    await tunnel.aclose()
                self._tunnel = tunnel
        if self._tunnel is None or not self.is_open:
            raise unknown_connection(self.session_id)
        return self._tunnel

    async def answer_to(self, request: Message, request_id: bytes) -> bytes | None:
        """Response to an MCP request, as a line; None if the client canceled it."""
        try:
            tunnel = await self.ready()
            asked = tunnel.request(str(request.method), request.params)
            result = await self._in_flight.run(request_id, asked)
            return wire.result_response(request_id, encode_value(result))
        except CancelledByPeerError:
            return None
        except RpcError as error:
            return wire.error_response(request_id, wire.error_body(error))

    async def take(self, message: Message) -> None:
        """Forward a notification, or the response to a request of the server."""
        if message.method is UNSET:
            waiting = self._asked.pop(wire.id_key(bytes(message.id or b"null")), None)
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
            return
        # JSON-RPC's own cancellation names an id of this connection, so it is not forwarded.
        if message.method.startswith("$/"):
            return
        tunnel = await self.ready()
        tunnel.notify(message.method, message.params)
        if message.method == CANCELLED and message.params is not UNSET:
            self._in_flight.cancel(decode_value(message.params))

    async def listen(self, conversation: HttpConversation) -> None:
        """Write server messages to this stream, queued ones first, until the client leaves."""
        before, self._get = self._get, conversation
        if before is not None:
            # A second GET means that the client lost the first stream.
            await before.end_events()
            before.close()
        queue, self._queue, self._queued = self._queue, deque(), 0
        for line in queue:
            self._write(line)
        try:
            await conversation.gone()
        finally:
            if self._get is conversation:
                self._get = None

    def post_begins(self, conversation: HttpConversation) -> None:
        """Use the stream of a POST for server messages, too."""
        self._posts.append(conversation)

    def post_ends(self, conversation: HttpConversation) -> None:
        """Stop using the stream of a POST: its response follows."""
        if conversation in self._posts:
            self._posts.remove(conversation)

    async def aclose(self) -> None:
        """Notify the owner after the client disconnected, or when the endpoint closes."""
        self.close()
        if self._tunnel is not None:
            await self._tunnel.aclose()

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request to the client and wait for the result.

        Raises:
            RpcError: the client returned an error or disconnected.
        """
        self._last_id += 1
        number = self._last_id
        request_id = b"%d" % number
        waiting: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._asked[request_id] = waiting
        try:
            body = UNSET if params is None else encode_value(params)
            if not self._write(wire.request(request_id, method, body)):
                reason = "the agent does not read messages of this server"
                raise RpcError(INTERNAL_ERROR, {"reason": reason, "method": method})
            message = await waiting
        except asyncio.CancelledError:
            self.notify(CANCELLED, {"requestId": number})
            raise
        finally:
            self._asked.pop(request_id, None)
        if message.error is not UNSET and bytes(message.error) != b"null":
            raise wire.rpc_error(message.error)
        return None if message.result is UNSET else decode_value(message.result)

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification to the client; drop it if the buffer is full."""
        body = UNSET if params is None else encode_value(params)
        self._write(wire.notification(method, body))

    def close(self) -> None:
        """Close the streams and fail the pending requests: the owner closed the connection."""
        self.is_open = False
        asked, self._asked = self._asked, {}
        for waiting in asked.values():
            if not waiting.done():
                waiting.set_exception(unknown_connection(self.session_id))
        if self._get is not None:
            self._get.close()
        self._queue.clear()

    def _write(self, line: bytes) -> bool:
        """Write a server message to the GET stream or a POST's, or queue it."""
        for stream in (self._get, *reversed(self._posts)):
            if stream is not None and stream.send_event(line):
                return True
        if not self.is_open or self._queued + len(line) > MAX_QUEUED:
            return False
        self._queue.append(line)
        self._queued += len(line)
        return True

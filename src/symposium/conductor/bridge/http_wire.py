"""HTTP/1.1 on one connection, server's side, as far as the bridge needs it; knows no MCP."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import h11

from peerwire.mcp.streamable_http import event

MAX_HEAD: Final = 16 * 1024
"""Bytes of a request's head; agents send far less."""

PATIENCE: Final = 30.0
"""Seconds that a client has for the rest of a request that it has begun."""

IDLE: Final = 300.0
"""Seconds that a connection is kept open for the next request."""

IDLE_UNPROVEN: Final = 10.0
"""Seconds that a new connection has until its first request."""

UNREAD: Final = 8 * 1024 * 1024
"""Bytes of events that a client may leave unread before it counts as gone."""

LINGER: Final = 1.0
"""Seconds that a client whose request was not read to its end has to read the answer."""

LINGERING: Final = 1024 * 1024
"""Bytes that it may still send meanwhile."""

_READ: Final = 64 * 1024

Headers = Sequence[tuple[str, str]]


class BodyTooLongError(Exception):
    """A request's body is longer than allowed; it has not been read to its end."""


class HttpConversation:
    """Requests and answers on one connection, one after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)

    async def next_request(self, idle: float = IDLE) -> h11.Request | None:
        """The head of the next request; None at the end.

        Args:
            idle: seconds in which it must begin.

        Raises:
            h11.RemoteProtocolError: it is none.
            TimeoutError: it does not come, or stops coming.
        """
        has_begun = False
        async with asyncio.timeout(idle) as scope:
            while (found := self._http.next_event()) is h11.NEED_DATA:
                data = await self._reader.read(_READ)
                if data and not has_begun:
                    has_begun = True
                    scope.reschedule(asyncio.get_running_loop().time() + PATIENCE)
                self._http.receive_data(data)
        return found if isinstance(found, h11.Request) else None

    async def body(self, limit: int) -> bytes:
        """The body of the request.

        Raises:
            BodyTooLongError: it is longer than `limit` bytes.
            h11.RemoteProtocolError: it is not what its head says.
            TimeoutError: it stops coming.
        """
        chunks: list[bytes] = []
        size = 0
        async with asyncio.timeout(PATIENCE) as scope:
            while True:
                match found := self._http.next_event():
                    case h11.NEED_DATA:
                        if self._http.they_are_waiting_for_100_continue:
                            self._send(h11.InformationalResponse(status_code=100, headers=[]))
                        self._http.receive_data(await self._reader.read(_READ))
                        scope.reschedule(asyncio.get_running_loop().time() + PATIENCE)
                    case h11.Data():
                        size += len(found.data)
                        if size > limit:
                            raise BodyTooLongError
                        chunks.append(bytes(found.data))
                    case _:
                        return b"".join(chunks)

    async def answer(self, status: int, headers: Headers = (), body: bytes = b"") -> None:
        """Answer the request at once, whether or not it has been read to its end."""
        self._head(status, [*headers, ("Content-Length", str(len(body)))])
        if body:
            self._send(h11.Data(data=body))
        self._send(h11.EndOfMessage())
        await self._writer.drain()

    def begin_events(self, headers: Headers = ()) -> None:
        """Answer the request with events, which follow."""
        kind = [("Content-Type", "text/event-stream"), ("Cache-Control", "no-store")]
        self._head(200, [*kind, *headers])

    def send_event(self, data: bytes) -> bool:
        """Write an event; whether the client is still there to read it."""
        if self._writer.is_closing() or self._http.our_state is not h11.SEND_BODY:
            return False
        if self._writer.transport.get_write_buffer_size() > UNREAD:
            self._writer.transport.abort()
            return False
        self._send(h11.Data(data=event(data)))
        return True

    async def end_events(self) -> None:
        """The answer is complete."""
        if self._http.our_state is h11.SEND_BODY:
            self._send(h11.EndOfMessage())
        await self._writer.drain()

    async def gone(self) -> None:
        """Wait until the client has closed the connection, or we have."""
        while await self._reader.read(_READ):
            pass

    def next_cycle(self) -> bool:
        """Be ready for another request; whether there may be one."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    @property
    def can_answer(self) -> bool:
        """Whether an answer can still be begun."""
        return self._http.our_state in {h11.IDLE, h11.SEND_RESPONSE}

    async def linger(self) -> None:
        """Let the client read its answer before the connection breaks over what it still sends."""
        if not self._writer.is_closing() and self._writer.can_write_eof():
            self._writer.write_eof()
        left = LINGERING
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                while left > 0 and (data := await self._reader.read(_READ)):
                    left -= len(data)

    def close(self) -> None:
        """Close the connection; what was written is still sent."""
        self._writer.close()

    def _head(self, status: int, headers: list[tuple[str, str]]) -> None:
        # What is left of a request that was refused is not read: the connection ends with it.
        if self._http.their_state not in {h11.DONE, h11.MUST_CLOSE}:
            headers.append(("Connection", "close"))
        self._send(h11.Response(status_code=status, headers=headers))

    def _send(self, written: h11.Event) -> None:
        self._writer.write(self._http.send(written) or b"")

"""Transports in memory, and wrappers that forward or observe another transport.

A pair in memory behaves like a pipe, including the water marks, so tests with it are realistic.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from peerwire.errors import ConnectionClosedError
from peerwire.jsonrpc.transport import (
    HEAD,
    HIGH_WATER,
    LOW_WATER,
    MAX_LINE,
    Listener,
    OversizedLine,
    Transport,
)


class MemoryTransport:
    """One end of a connected pair; created by `memory_pair`."""

    def __init__(self, incoming: "_Lane", outgoing: "_Lane") -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    @property
    def backlog(self) -> int:
        """Sent bytes that the other end has not received yet."""
        return self._outgoing.size

    def start(self, listener: Listener) -> None:
        """Start delivery, on the running event loop."""
        self._outgoing.sender = listener
        self._incoming.receiver = listener
        self._incoming.schedule()
        self._outgoing.schedule()

    def send(self, line: bytes) -> None:
        """Queue one line for the other end."""
        self._outgoing.put(line)

    def pause_reading(self) -> None:
        """Stop delivery until `resume_reading`."""
        self._incoming.held = True

    def resume_reading(self) -> None:
        self._incoming.held = False
        self._incoming.schedule()

    async def drain(self) -> None:
        """Wait until the backlog is below the low-water mark, or the stream has ended."""
        await asyncio.sleep(0)
        await self._outgoing.quick.wait()

    async def aclose(self, *, grace: float = 1.0) -> None:
        """End both directions; lines sent before are still delivered."""
        del grace  # sent lines are already queued at the other end
        self._incoming.abandon()
        self._outgoing.end()

    def break_off(self, reason: str) -> None:
        """End the input of this end with an error, like a broken pipe; for tests."""
        receiver = self._incoming.receiver
        if not self._incoming.is_over:
            self._incoming.abandon()
            if receiver is not None:
                receiver.ended(ConnectionClosedError(reason))


class _Lane:
    """Queue of one direction: lines sent by one end and not yet received by the other."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lines: deque[bytes] = deque()
        self._scheduled = False
        self._is_ending = False
        self._is_slow = False
        self._has_grown = False
        self.size = 0
        self.sender: Listener | None = None
        self.receiver: Listener | None = None
        self.held = False
        self.is_over = False
        self.quick = asyncio.Event()
        self.quick.set()

    def put(self, line: bytes) -> None:
        if self._is_ending or self.is_over:
            return
        self._lines.append(line)
        self.size += len(line) + 1
        self._has_grown = True
        self.schedule()

    def end(self) -> None:
        """End the stream for the sender; notify the receiver after the last line."""
        self._is_ending = True
        self.sender = None
        self.quick.set()
        self.schedule()

    def abandon(self) -> None:
        """Discard all lines, because the receiver is closed."""
        self.is_over = True
        self._lines.clear()
        self.size = 0
        self.schedule()

    def schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._scheduled = False
        receiver = self.receiver
        if receiver is not None and not self.held and (lines := self._take()):
            receiver.lines_received(lines)
        self._tell_marks()
        if receiver is None or self.held or self.is_over:
            return
        if self._lines:
            self.schedule()
        elif self._is_ending:
            self.is_over = True
            receiver.ended(None)

    def _take(self) -> list[bytes | OversizedLine]:
        lines: list[bytes | OversizedLine] = []
        taken = 0
        while self._lines and taken <= HIGH_WATER:
            line = self._lines.popleft()
            taken += len(line) + 1
            if len(line) <= self._limit:
                lines.append(line)
            else:
                lines.append(OversizedLine(line[:HEAD], self._limit, line[-HEAD:]))
        self.size -= taken
        return lines

    def _tell_marks(self) -> None:
        if self.size > HIGH_WATER and self._has_grown and not self._is_ending:
            self._is_slow = True
            self.quick.clear()
            if self.sender is not None:
                self.sender.writing_paused()
        elif self.size <= LOW_WATER and self._is_slow:
            self._is_slow = False
            self.quick.set()
            if self.sender is not None:
                self.sender.writing_resumed()
        self._has_grown = False


def memory_pair(*, limit: int = MAX_LINE) -> tuple[MemoryTransport, MemoryTransport]:
    """Return two connected transports. Call it while an event loop runs."""
    there, back = _Lane(limit), _Lane(limit)
    return MemoryTransport(back, there), MemoryTransport(there, back)


class ForwardingTransport:
    """Transport that forwards to another one; subclasses change or observe the lines."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def backlog(self) -> int:
        """Sent bytes that the peer has not read yet."""
        return self._transport.backlog

    def start(self, listener: Listener) -> None:
        """Start reading, on the running event loop."""
        self._transport.start(listener)

    def send(self, line: bytes) -> None:
        self._transport.send(line)

    def pause_reading(self) -> None:
        """Stop reading until `resume_reading`."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    async def drain(self) -> None:
        """Wait until the backlog is below the low-water mark."""
        await self._transport.drain()

    async def aclose(self, *, grace: float = 1.0) -> None:
        """Close the other transport."""
        await self._transport.aclose(grace=grace)


Seen: TypeAlias = Callable[[Literal["received", "sent"], bytes | OversizedLine], None]
"""Called with each line before it is handled, and its direction for this process."""


class TappedTransport(ForwardingTransport):
    """Transport that calls a function with each line sent or received."""

    def __init__(self, transport: Transport, on_line: Seen) -> None:
        super().__init__(transport)
        self._on_line = on_line

    def start(self, listener: Listener) -> None:
        """Start reading, on the running event loop."""
        self._listener = listener
        self._transport.start(self)

    def send(self, line: bytes) -> None:
        """Report one line, and send it."""
        self._on_line("sent", line)
        self._transport.send(line)

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        """Report the lines, and forward them to the listener."""
        for line in lines:
            self._on_line("received", line)
        self._listener.lines_received(lines)

    def writing_paused(self) -> None:
        self._listener.writing_paused()

    def writing_resumed(self) -> None:
        self._listener.writing_resumed()

    def ended(self, error: Exception | None) -> None:
        self._listener.ended(error)

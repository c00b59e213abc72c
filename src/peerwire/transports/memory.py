"""Two transports joined in memory: what one sends, the other receives one turn of the loop later.

The same promises as a pipe, marks included, so that a test or an in-process agent meets no friendlier world.
"""

import asyncio
from collections import deque

from peerwire.errors import ConnectionClosedError
from peerwire.jsonrpc.codec import MAX_LINE, Overlong
from peerwire.transports.transport import HIGH_WATER, LOW_WATER, Listener


class MemoryTransport:
    """One end of a joined pair; made by `memory_pair`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._listener: Listener | None = None
        self._inbox: deque[bytes] = deque()
        self._inbox_size = 0
        self._scheduled = False
        self._held = False
        self._closed = False
        self._peer_closed = False
        self._told_end = False
        self._peer_slow = False
        self._drained = asyncio.Event()
        self._drained.set()

    def join(self, peer: "MemoryTransport") -> None:
        """Make `peer` the other end of this one."""
        self._peer = peer

    @property
    def backlog(self) -> int:
        """Bytes the other end has not been given yet."""
        return self._peer.inbox_size

    @property
    def inbox_size(self) -> int:
        """Bytes that wait for this end's listener."""
        return self._inbox_size

    def start(self, listener: Listener) -> None:
        """Begin to deliver, on the running event loop."""
        self._listener = listener
        self._schedule()

    def send(self, line: bytes) -> None:
        """Append one line for the other end."""
        if self._closed or self._peer_closed:
            return
        self._peer.accept(line)
        if self._peer.inbox_size > HIGH_WATER:
            self._peer_slow = True
            self._drained.clear()
            if self._listener is not None:
                self._listener.writing_paused()

    def accept(self, line: bytes) -> None:
        """Take one line from the other end."""
        self._inbox.append(line)
        self._inbox_size += len(line) + 1
        self._schedule()

    def pause_reading(self) -> None:
        """Deliver nothing until `resume_reading`."""
        self._held = True

    def resume_reading(self) -> None:
        """Undo `pause_reading`."""
        self._held = False
        self._schedule()

    async def drain(self) -> None:
        """Wait until the other end has taken what waits but for the low-water mark."""
        await asyncio.sleep(0)
        await self._drained.wait()

    async def aclose(self, *, grace: float = 1.0) -> None:
        """End both directions; what was sent before still arrives."""
        del grace
        self._closed = True
        self._drained.set()
        self._peer.peer_closed()

    def peer_closed(self) -> None:
        """The other end has closed: what it sent before is delivered, then the end."""
        self._peer_closed = True
        self._peer_slow = False
        self._drained.set()
        self._schedule()

    def taken(self) -> None:
        """The other end has delivered some of what we sent."""
        if self._peer_slow and self._peer.inbox_size <= LOW_WATER:
            self._peer_slow = False
            self._drained.set()
            if self._listener is not None and not self._closed:
                self._listener.writing_resumed()

    def _schedule(self) -> None:
        if not self._scheduled and self._listener is not None and not self._held:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._deliver)

    def _deliver(self) -> None:
        self._scheduled = False
        if self._held or self._listener is None or self._closed:
            return
        lines: list[bytes | Overlong] = []
        size = 0
        while self._inbox and size <= HIGH_WATER:
            line = self._inbox.popleft()
            size += len(line) + 1
            lines.append(line if len(line) <= self._limit else Overlong(line[:256], self._limit))
        self._inbox_size -= size
        if lines:
            self._listener.lines_received(lines)
            self._peer.taken()
        if self._inbox:
            self._schedule()
        elif self._peer_closed and not self._told_end:
            self._told_end = True
            self._listener.ended(None)

    def break_off(self, reason: str) -> None:
        """End this direction as a broken pipe would, for tests of faults."""
        if self._listener is not None and not self._told_end:
            self._told_end = True
            self._listener.ended(ConnectionClosedError(reason))


def memory_pair(*, limit: int = MAX_LINE) -> tuple[MemoryTransport, MemoryTransport]:
    """Two transports, each the other's peer. Call it while an event loop runs."""
    one, two = MemoryTransport(limit), MemoryTransport(limit)
    one.join(two)
    two.join(one)
    return one, two

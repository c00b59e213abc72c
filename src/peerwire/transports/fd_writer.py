"""The writing half of a descriptor: a backlog in order, its marks, and gathered writes."""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

from peerwire.jsonrpc.transport import HIGH_WATER, LOW_WATER, Listener
from peerwire.transports.pipe_room import PipeRoom

SEGMENTS: Final = 64
"""Buffers of one gathered write; the kernel takes at least 1024, a pipe is full long before."""


class FdWriter:
    """Writes to one descriptor, which must not block, what it is given, until it breaks."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._room = PipeRoom(fd)
        self._loop = asyncio.get_running_loop()
        self._backlog: deque[memoryview] = deque()
        self._waiting = False
        self._is_slow = False
        self._quick = asyncio.Event()
        self._quick.set()
        self._empty = asyncio.Event()
        self.size = 0
        """Bytes that wait for the peer."""

    def start(self, listener: Listener, on_break: Callable[[OSError], None]) -> None:
        """Name who hears of the marks, and of the peer's having closed its end."""
        self._listener = listener
        self._on_break = on_break

    def write(self, data: Iterable[memoryview], size: int) -> None:
        """Append buffers of `size` bytes in all, and write as much as the peer takes."""
        self._backlog.extend(data)
        self.size += size
        if not self._waiting:
            self._room.fit(size)
            self._push()
            if self._backlog:
                self._waiting = True
                self._loop.add_writer(self._fd, self._writable)
        if self.size > HIGH_WATER:
            self._is_slow = True
            self._quick.clear()
            self._listener.writing_paused()

    def write_small(self, data: bytes) -> None:
        """The same for one buffer that a quick peer takes at once, as almost always."""
        rest = memoryview(data)
        if not self._backlog and not self._room.is_wide:
            try:
                taken = os.write(self._fd, data)
            except (BlockingIOError, InterruptedError):
                taken = 0
            except OSError as error:
                self.close()
                self._on_break(error)
                return
            if taken == len(data):
                return
            rest = rest[taken:]
        self.write((rest,), len(rest))

    async def drain(self) -> None:
        """Wait until the backlog is below the low-water mark, or the peer reads no more."""
        await self._quick.wait()

    async def flush(self) -> None:
        """Wait until the peer has taken everything, or reads no more."""
        while self._backlog:
            self._empty.clear()
            await self._empty.wait()

    def close(self) -> None:
        """Drop what waits and write nothing any more; the descriptor stays open."""
        self._backlog.clear()
        self.size = 0
        self._stop_waiting()
        self._quick.set()
        self._empty.set()

    def _push(self) -> None:
        backlog = self._backlog
        try:
            while backlog:
                if len(backlog) == 1:
                    taken = os.write(self._fd, backlog[0])
                else:
                    taken = os.writev(self._fd, [*islice(backlog, SEGMENTS)])
                self._took(taken)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.close()
            self._on_break(error)

    def _took(self, taken: int) -> None:
        self.size -= taken
        while taken:
            head = self._backlog[0]
            if taken < len(head):
                self._backlog[0] = head[taken:]
                return
            taken -= len(head)
            self._backlog.popleft()

    def _writable(self) -> None:
        self._push()
        if not self._backlog:
            self._stop_waiting()
            self._empty.set()
        if self._is_slow and self.size <= LOW_WATER:
            self._is_slow = False
            self._quick.set()
            self._listener.writing_resumed()

    def _stop_waiting(self) -> None:
        if self._waiting:
            self._waiting = False
            self._loop.remove_writer(self._fd)

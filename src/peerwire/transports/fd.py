"""Lines over a pair of file descriptors: pipes, sockets, terminals and plain files.

Reads and writes go straight to the descriptor, one system call for all lines of a wake-up: several times faster than
`asyncio`'s streams (docs/design/wire.md has the measurements).
"""

import asyncio
import os
import select
import stat
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from peerwire.jsonrpc.codec import MAX_LINE, LineSplitter
from peerwire.transports.transport import HIGH_WATER, LOW_WATER, Listener

READ_SIZE: Final = 64 * 1024
"""Bytes of one read: what a pipe holds, and below the size where malloc asks the kernel each time."""

SEGMENTS: Final = 64
"""Buffers of one gathered write."""


class FdTransport:
    """Owns both descriptors from `start` to `aclose`; they may be the same one (a socket)."""

    def __init__(
        self, read_fd: int, write_fd: int, *, limit: int = MAX_LINE, on_close: Callable[[], None] | None = None
    ) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._on_close = on_close
        self._splitter = LineSplitter(limit)
        self._fresh: list[bytes] = []
        self._fresh_size = 0
        self._backlog: deque[memoryview] = deque()
        self._backlog_size = 0
        self._was_blocking: dict[int, bool] = {}
        self._loop = asyncio.get_running_loop()
        self._started = False
        self._reading = False
        self._held = False
        self._over = False
        self._broken = False
        self._is_slow = False
        self._drained = asyncio.Event()
        self._drained.set()

    @property
    def backlog(self) -> int:
        """Bytes given to `send` that the peer has not taken yet."""
        return self._backlog_size + self._fresh_size

    def start(self, listener: Listener) -> None:
        """Begin to read, on the running event loop."""
        self._listener = listener
        self._started = True
        for fd in (self._read_fd, self._write_fd):
            self._was_blocking.setdefault(fd, os.get_blocking(fd))
            os.set_blocking(fd, False)
        self._reads_file = not _can_poll(self._read_fd)
        self._resume()
        self._flush()

    # -- reading

    def pause_reading(self) -> None:
        """Read nothing until `resume_reading`."""
        self._held = True
        self._stop_reading()

    def resume_reading(self) -> None:
        """Undo `pause_reading`."""
        self._held = False
        self._resume()

    def _resume(self) -> None:
        if self._reading or self._held or self._over:
            return
        self._reading = True
        if self._reads_file:
            self._loop.call_soon(self._read_file)
        else:
            self._loop.add_reader(self._read_fd, self._readable)

    def _stop_reading(self) -> None:
        if self._reading:
            self._reading = False
            if not self._reads_file:
                self._loop.remove_reader(self._read_fd)

    def _read_file(self) -> None:
        # A plain file is always readable, and the selector refuses it.
        if self._reading:
            self._readable()
        if self._reading:
            self._loop.call_soon(self._read_file)

    def _readable(self) -> None:
        try:
            data = os.read(self._read_fd, READ_SIZE)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._end(error)
            return
        if not data:
            self._end(None)
            return
        lines = self._splitter.feed(data)
        if lines:
            self._listener.lines_received(lines)

    def _end(self, error: Exception | None) -> None:
        if self._over:
            return
        self._over = True
        self._stop_reading()
        last = self._splitter.finish()
        if last:
            self._listener.lines_received(last)
        self._listener.ended(error)

    def finish_reading(self, error: Exception | None = None) -> None:
        """Take what the pipe still holds, then end: for a process that has exited while a descendant keeps the pipe."""
        self._held = False
        while not self._over and _has_input(self._read_fd):
            self._readable()
        self._end(error)

    # -- writing

    def send(self, line: bytes) -> None:
        """Append one line; written with all others of this turn of the loop."""
        if self._broken:
            return
        if not self._fresh and self._started:
            self._loop.call_soon(self._flush)
        self._fresh.append(line)
        self._fresh_size += len(line) + 1

    def _flush(self) -> None:
        lines = self._fresh
        if not lines or self._broken:
            return
        if len(lines) == 1 and self._fresh_size > READ_SIZE:
            data = [memoryview(lines[0]), memoryview(b"\n")]
        else:
            lines.append(b"")
            data = [memoryview(b"\n".join(lines))]
        size = self._fresh_size
        lines.clear()
        self._fresh_size = 0
        idle = not self._backlog
        self._backlog.extend(data)
        self._backlog_size += size
        if not idle:
            self._watch_marks()
            return
        self._write()
        if self._backlog and not self._broken:
            self._loop.add_writer(self._write_fd, self._write)

    def _write(self) -> None:
        try:
            while self._backlog:
                taken = os.writev(self._write_fd, [self._backlog[at] for at in range(min(len(self._backlog), SEGMENTS))])
                self._took(taken)
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            self._break(error)
            return
        self._watch_marks()

    def _took(self, taken: int) -> None:
        self._backlog_size -= taken
        while taken:
            head = self._backlog[0]
            if taken < len(head):
                self._backlog[0] = head[taken:]
                return
            taken -= len(head)
            self._backlog.popleft()

    def _watch_marks(self) -> None:
        if not self._backlog:
            with suppress(OSError, ValueError):
                self._loop.remove_writer(self._write_fd)
        if self._backlog_size > HIGH_WATER:
            self._is_slow = True
            self._drained.clear()
            self._listener.writing_paused()
        elif self._backlog_size <= LOW_WATER and self._is_slow:
            self._is_slow = False
            self._drained.set()
            self._listener.writing_resumed()

    def _break(self, error: OSError) -> None:
        # The peer stopped reading. What it wrote before is still worth having, then this is the end.
        self._broken = True
        self._backlog.clear()
        self._fresh.clear()
        self._backlog_size = self._fresh_size = 0
        self._drained.set()
        self._loop.remove_writer(self._write_fd)
        self._loop.call_soon(self.finish_reading, error)

    async def drain(self) -> None:
        """Wait until the peer has taken what waits but for the low-water mark."""
        await asyncio.sleep(0)
        await self._drained.wait()

    async def aclose(self, *, grace: float = 1.0) -> None:
        """Write what waits for at most `grace` seconds, then close both descriptors."""
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._flushed()
        self.close()

    async def _flushed(self) -> None:
        await asyncio.sleep(0)
        while self._backlog and not self._broken:
            done = self._loop.create_future()
            self._loop.remove_writer(self._write_fd)
            self._loop.add_writer(self._write_fd, done.set_result, None)
            try:
                await done
            finally:
                self._loop.remove_writer(self._write_fd)
            self._write()

    def close_writing(self) -> None:
        """End our direction now; the peer sees the end of its input and may still write."""
        if self._write_fd == self._read_fd or self._write_fd < 0:
            return
        self._broken = True
        self._loop.remove_writer(self._write_fd)
        os.close(self._write_fd)
        self._was_blocking.pop(self._write_fd, None)
        self._write_fd = -1

    def close(self) -> None:
        """Close both descriptors now, and give them back the mode they came with."""
        self._stop_reading()
        self._over = True
        self._broken = True
        self._drained.set()
        for fd, was_blocking in self._was_blocking.items():
            self._loop.remove_writer(fd)
            with suppress(OSError):
                # Standard streams share their mode with everyone who holds the same terminal.
                os.set_blocking(fd, was_blocking)
                os.close(fd)
        self._was_blocking.clear()
        if self._on_close is not None:
            self._on_close()
            self._on_close = None


def _can_poll(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)


def _has_input(fd: int) -> bool:
    return bool(select.select([fd], [], [], 0)[0])

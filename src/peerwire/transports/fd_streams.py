"""Reader and writer of a non-blocking file descriptor; they resize its pipe on Linux.

A pipe has 64 KiB by default. A line of 5 MB then needs about a hundred process switches and takes
18 ms (`cat`: 12 ms). It takes 11 ms through a pipe of 1 MiB. A pipe is large only while a large
line passes, because a large buffer delays the messages behind a flood.
"""

import asyncio
import errno
import fcntl
import logging
import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import islice
from typing import Final, TypeAlias

from peerwire.jsonrpc.transport import (
    HEAD,
    HIGH_WATER,
    LARGE,
    LOW_WATER,
    LineSplitter,
    Listener,
    OversizedLine,
)

WIDE: Final = 1024 * 1024
"""Bytes of a large pipe: the default limit without privileges (/proc/sys/fs/pipe-max-size)."""

WIDEN_ABOVE: Final = WIDE
"""Bytes in flight above which a pipe becomes large; small lines never add up to as much."""

_GET: Final[int | None] = getattr(fcntl, "F_GETPIPE_SZ", None)
_SET: Final[int | None] = getattr(fcntl, "F_SETPIPE_SZ", None)


class PipeSize:
    """Size of the pipe behind a descriptor; no effect if it is not a pipe."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._usual: int | None = None

    @property
    def is_wide(self) -> bool:
        """Whether the pipe is enlarged at present."""
        return self._usual is not None

    def fit(self, size: int, *, above: int = WIDEN_ABOVE) -> None:
        """Enlarge the pipe if more than `above` bytes are in flight, else restore its size."""
        if size > above:
            self.widen()
        elif self._usual is not None and self._resized(self._usual):
            self._usual = None

    def widen(self) -> None:
        """Enlarge the pipe until `fit` restores its size."""
        if _GET is None or self._usual is not None:
            return
        try:
            found = fcntl.fcntl(self._fd, _GET)
        except OSError:
            return
        if found < WIDE and self._resized(WIDE):
            self._usual = found

    def _resized(self, size: int) -> bool:
        if _SET is None:
            return False
        try:
            fcntl.fcntl(self._fd, _SET, size)
        except OSError as error:
            # EBUSY: the pipe holds more than the new size; `fit` tries again later.
            return error.errno != errno.EBUSY
        return True


READ_SIZE: Final = 64 * 1024
"""Bytes of one read: the size of a pipe, and small enough that malloc does not call mmap."""

AT_ONCE: Final = 1024 * 1024
"""Maximum bytes of a large line that one wake-up reads before other peers are served."""

LAST_READ: Final = 1024 * 1024
"""Maximum bytes of the last read from a stream that still has a writer: the largest pipe."""

OnLines: TypeAlias = Callable[[Sequence[bytes | OversizedLine]], None]
OnEnd: TypeAlias = Callable[[Exception | None], None]
OnRead: TypeAlias = Callable[[Sequence[bytes | OversizedLine]], None]
"""Called before `OnLines` with the lines of each read, even if the read completed no line."""

_log = logging.getLogger(__name__)


class FdReader:
    """Read lines from a non-blocking descriptor until its end, an error, or `close`."""

    def __init__(self, fd: int, limit: int, size: int = READ_SIZE) -> None:
        self._fd = fd
        self._size = size
        self._splitter = LineSplitter(limit)
        self._loop = asyncio.get_running_loop()
        self._room = PipeSize(fd)
        self._is_polled = _can_poll(fd)
        _keep_what_is_freed()
        self._reading = False
        self._held = False
        self._over = False
        self._on_read: OnRead | None = None

    @property
    def unfinished(self) -> int:
        """Bytes received of an incomplete line."""
        return self._splitter.held

    def tell_reads(self, on_read: OnRead) -> None:
        """Call `on_read` after each read, and at the end of the stream."""
        self._on_read = on_read

    def start(self, on_lines: OnLines, on_end: OnEnd) -> None:
        """Start reading; `on_end` is called once, after the last lines."""
        self._on_lines = on_lines
        self._on_end = on_end
        self._read_on()

    def pause(self) -> None:
        """Stop reading until `resume`."""
        self._held = True
        self._stop()

    def resume(self) -> None:
        """Read again after `pause`."""
        self._held = False
        self._read_on()

    def discard(self) -> None:
        """Keep reading, so that the peer does not block, but discard the data."""
        self._on_lines = _ignore
        self._on_end = _ignore

    def finish(self, error: Exception | None) -> None:
        """Read the available data, at most `LAST_READ` bytes, and end with `error`."""
        left = LAST_READ
        while left > 0 and not self._over:
            try:
                data = os.read(self._fd, READ_SIZE)
            except OSError:
                break
            if not data:
                break
            left -= len(data)
            lines = self._splitter.feed(data)
            if self._on_read is not None:
                self._on_read(lines)
            if lines:
                self._on_lines(lines)
        self._end(error)

    def close(self) -> None:
        """Stop reading without calling `on_end`; the descriptor stays open."""
        self._stop()
        self._over = True

    def _read_on(self) -> None:
        if self._reading or self._held or self._over:
            return
        self._reading = True
        if self._is_polled:
            self._loop.add_reader(self._fd, self._readable)
        else:
            self._loop.call_soon(self._read_file)

    def _stop(self) -> None:
        if self._reading:
            self._reading = False
            if self._is_polled:
                self._loop.remove_reader(self._fd)

    def _read_file(self) -> None:
        # Selectors do not support regular files, which are always readable.
        if self._reading:
            self._readable()
        if self._reading:
            self._loop.call_soon(self._read_file)

    def _readable(self) -> None:
        left = AT_ONCE
        # Repeat here: a loop iteration for each full pipe would cost more than the read.
        while self._read_once() and self._splitter.held > LARGE and left > 0 and self._reading:
            left -= self._size

    def _read_once(self) -> bool:
        """Read once; return whether more data may be available."""
        try:
            data = os.read(self._fd, self._size)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            self._end(error)
            return False
        if not data:
            self._end(None)
            return False
        lines = self._splitter.feed(data)
        if self._on_read is not None:
            self._on_read(lines)
        if lines:
            self._on_lines(lines)
        # A whole read without the end of a line: a flood of small lines never holds as much.
        self._room.fit(self._splitter.held, above=READ_SIZE - 1)
        return len(data) == self._size

    def _end(self, error: Exception | None) -> None:
        if self._over:
            return
        self._stop()
        self._over = True
        if self._on_read is not None:
            self._on_read(())
        for line in self._splitter.finish():
            if isinstance(line, OversizedLine) or line.rstrip().endswith((b"}", b"]")):
                self._on_lines([line])
            else:
                # An incomplete line is not a message, so it is only logged.
                _log.warning("the input ended inside a line: %s", line[:HEAD])
        self._on_end(error)


def _ignore(_: object) -> None:
    pass


@cache
def _keep_what_is_freed() -> None:
    """Make glibc reuse the memory of large lines; no effect with other C libraries.

    glibc keeps free memory up to twice the size of the largest freed block (mallopt(3)), so this
    frees one block. Otherwise the kernel maps the pages again for each large line: forwarding 5 MB
    takes 8.7 ms of CPU time instead of 3.8 ms.
    """
    bytes(8 * 1024 * 1024)


RETURN_ABOVE: Final = 4 * 1024 * 1024
"""Bytes of a discarded backlog above which freed memory is returned to the system."""


def _return_free_memory() -> None:
    """Undo `_keep_what_is_freed` for what is free now, after a peer that did not read.

    Otherwise a daemon keeps up to 16 MiB for each such peer. No effect with other C libraries.
    """
    # Costs milliseconds, and most programs never need it.
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _can_poll(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)


SEGMENTS: Final = 64
"""Maximum buffers of one `writev`; the kernel accepts 1024, but a pipe is full much earlier."""


class FdWriter:
    """Write buffers to a non-blocking descriptor, with a backlog for a slow peer."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._room = PipeSize(fd)
        self._loop = asyncio.get_running_loop()
        self._backlog: deque[memoryview] = deque()
        self._waiting = False
        self._is_slow = False
        self._quick = asyncio.Event()
        self._quick.set()
        self._empty = asyncio.Event()
        self.size = 0
        """Backlog in bytes."""

    def start(self, listener: Listener, on_break: Callable[[OSError], None]) -> None:
        """Set the listener for `writing_paused`, and the callback for a failed write."""
        self._listener = listener
        self._on_break = on_break

    def write(self, data: Iterable[memoryview], size: int) -> None:
        """Append buffers with a total of `size` bytes, and write as much as possible now."""
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
        """Write one small buffer; the fast path for a peer without a backlog."""
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
        """Wait until the backlog is below the low-water mark, or the writer is closed."""
        await self._quick.wait()

    async def flush(self) -> None:
        """Wait until the backlog is written, or the writer is closed."""
        while self._backlog:
            self._empty.clear()
            await self._empty.wait()

    def close(self) -> None:
        """Discard the backlog and stop writing; the descriptor stays open."""
        self._backlog.clear()
        size, self.size = self.size, 0
        if size > RETURN_ABOVE:
            _return_free_memory()
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

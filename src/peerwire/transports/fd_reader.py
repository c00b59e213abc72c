"""The reading half of a descriptor: bytes in, whole lines out, as long as it may."""

import asyncio
import logging
import os
import stat
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, TypeAlias

from peerwire.jsonrpc.codec import HEAD, LARGE, LineSplitter, Overlong
from peerwire.transports.pipe_room import PipeRoom

READ_SIZE: Final = 64 * 1024
"""Bytes of one read: what a pipe holds, and below the size where malloc asks the kernel."""

AT_ONCE: Final = 1024 * 1024
"""Bytes of one large line that are read in one wake-up, so that other peers get their turn."""

LAST_READ: Final = 1024 * 1024
"""Bytes taken of a stream that must end now though somebody may still write: the largest pipe."""

OnLines: TypeAlias = Callable[[Sequence[bytes | Overlong]], None]
OnEnd: TypeAlias = Callable[[Exception | None], None]
OnRead: TypeAlias = Callable[[Sequence[bytes | Overlong]], None]
"""Receives the lines of each read before `OnLines`; none where a read completed no line."""

_log = logging.getLogger(__name__)


class FdReader:
    """Reads one descriptor, which must not block, until it ends, breaks or is closed."""

    def __init__(self, fd: int, limit: int, size: int = READ_SIZE) -> None:
        self._fd = fd
        self._size = size
        self._splitter = LineSplitter(limit)
        self._loop = asyncio.get_running_loop()
        self._room = PipeRoom(fd)
        self._is_polled = _can_poll(fd)
        _keep_what_is_freed()
        self._reading = False
        self._held = False
        self._over = False
        self._on_read: OnRead | None = None

    @property
    def unfinished(self) -> int:
        """Bytes of a line that is not complete yet."""
        return self._splitter.held

    def tell_reads(self, on_read: OnRead) -> None:
        """Call `on_read` after each read, and at the end of the stream."""
        self._on_read = on_read

    def start(self, on_lines: OnLines, on_end: OnEnd) -> None:
        """Begin to read; `on_end` is called once, after the last lines."""
        self._on_lines = on_lines
        self._on_end = on_end
        self._read_on()

    def pause(self) -> None:
        """Read nothing until `resume`."""
        self._held = True
        self._stop()

    def resume(self) -> None:
        """Undo `pause`."""
        self._held = False
        self._read_on()

    def discard(self) -> None:
        """Go on reading, so that the peer does not block, but tell nobody of what comes."""
        self._on_lines = _nobody
        self._on_end = _nobody

    def finish(self, error: Exception | None) -> None:
        """Take what is there by now, at most `LAST_READ` bytes, and end with `error`."""
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
        """Read nothing any more and tell nobody; the descriptor stays open."""
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
        # A plain file can always be read, and selectors refuse it.
        if self._reading:
            self._readable()
        if self._reading:
            self._loop.call_soon(self._read_file)

    def _readable(self) -> None:
        left = AT_ONCE
        # A turn of the loop for each pipe full would take longer than the reads.
        while self._read_once() and self._splitter.held > LARGE and left > 0 and self._reading:
            left -= self._size

    def _read_once(self) -> bool:
        """Read once; whether there may be more already."""
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
        self._room.fit(self._splitter.held)
        return len(data) == self._size

    def _end(self, error: Exception | None) -> None:
        if self._over:
            return
        self._stop()
        self._over = True
        if self._on_read is not None:
            self._on_read(())
        for line in self._splitter.finish():
            if isinstance(line, Overlong) or line.rstrip().endswith((b"}", b"]")):
                self._on_lines([line])
            else:
                # Cut off in the middle: no message, and nobody is left to be told so.
                _log.warning("the input ended inside a line: %s", line[:HEAD])
        self._on_end(error)


def _nobody(_: object) -> None:
    pass


@cache
def _keep_what_is_freed() -> None:
    """Let glibc keep the memory of one large line for the next; elsewhere this does nothing.

    It keeps no more than twice the largest block that was ever freed (mallopt(3)), so free one
    that was never touched. Without, the pages of each line of some megabytes go back to the kernel
    and are fetched again one by one: 8.7 ms of CPU instead of 3.8 to pass 5 MB on.
    """
    bytes(8 * 1024 * 1024)


def _can_poll(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)

"""What a program writes to stderr: always read, told line by line, its end kept."""

import asyncio
import os
from collections.abc import Callable, Iterator
from typing import Final

from peerwire.transports.fd_reader import LAST_READ, READ_SIZE

TAIL: Final = 64 * 1024
"""Bytes kept of a program's last words (acp-host §1.9)."""

LONGEST_LINE: Final = 16 * 1024
"""Bytes told of one line; nobody reads more of a line without an end."""

OnStderr = Callable[[bytes], None]


class StderrLines:
    """Cuts what arrives into lines; a very long one is cut short, and says so."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._length = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Lines that `data` completes, without their ends; terminal escapes stay in."""
        first, *others = data.split(b"\n")
        self._hold(first)
        for part in others:
            yield self._complete()
            self._hold(part)

    def finish(self) -> Iterator[bytes]:
        """What is left when the stream ends without a newline."""
        if self._length:
            yield self._complete()

    def _hold(self, part: bytes) -> None:
        self._length += len(part)
        self._line += part[: LONGEST_LINE - len(self._line)]

    def _complete(self) -> bytes:
        line = bytes(self._line).removesuffix(b"\r")
        if self._length > LONGEST_LINE:
            line += b" [cut, %d bytes in all]" % self._length
        self._line.clear()
        self._length = 0
        return line


class Stderr:
    """Owns the reading end of a program's stderr, and reads it until it ends."""

    def __init__(self, fd: int, on_line: OnStderr | None) -> None:
        self._fd = fd
        self._on_line = on_line
        self._lines = StderrLines()
        self._tail = bytearray()
        self._loop = asyncio.get_running_loop()
        os.set_blocking(fd, False)
        self._loop.add_reader(fd, self._readable)

    @property
    def tail(self) -> bytes:
        """The last `TAIL` bytes, as they came."""
        return bytes(self._tail[-TAIL:])

    def finish(self) -> None:
        """Take what is there by now, and close; a descendant of the program may still hold it."""
        left = LAST_READ
        while left > 0 and self._fd >= 0:
            left -= self._read() or left
        self._close()

    def _readable(self) -> None:
        self._read()

    def _read(self) -> int:
        try:
            data = os.read(self._fd, READ_SIZE)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            data = b""  # as good as its end: the program's protocol is not touched by it
        if not data:
            self._close()
        self._tail += data
        if len(self._tail) > 2 * TAIL:
            del self._tail[:-TAIL]
        if self._on_line is not None:
            for line in self._lines.feed(data):
                self._on_line(line)
        return len(data)

    def _close(self) -> None:
        if self._fd < 0:
            return
        self._loop.remove_reader(self._fd)
        os.close(self._fd)
        self._fd = -1
        if self._on_line is not None:
            for line in self._lines.finish():
                self._on_line(line)

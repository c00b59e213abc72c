"""A terminal as standard input and output of this process."""

import asyncio
import fcntl
import io
import os
import struct
import sys
import termios
from collections.abc import Generator
from contextlib import contextmanager, suppress


class TerminalText(io.StringIO):
    """Text that was written to a terminal, without one."""

    def isatty(self) -> bool:
        return True


class Screen:
    """The user's end of the terminal."""

    def __init__(self, descriptor: int, side: int) -> None:
        self.descriptor, self.side = descriptor, side

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.side, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text: bytes) -> None:
        os.write(self.descriptor, text)

    async def until(self, text: bytes) -> None:
        """Wait until exactly this is shown next."""
        shown = b""
        while shown != text:
            shown += await self._read(len(text) - len(shown))
            assert text.startswith(shown)

    async def until_part(self, text: str) -> None:
        """Wait until the text is shown; output after it stays unread."""
        shown = b""
        while not shown.endswith(text.encode()):
            shown += await self._read(1)

    async def until_shown(self, line: str) -> None:
        """Wait until a line is shown; output after it stays unread."""
        shown = b""
        while shown != line.encode() + b"\n":
            shown = b"" if shown.endswith(b"\n") else shown
            shown = (shown + await self._read(1)).replace(b"\r", b"")

    async def _read(self, size: int) -> bytes:
        ready = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(self.descriptor, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self.descriptor)
        return os.read(self.descriptor, size)

    def rest(self) -> str:
        """Return the output that is not yet read."""
        os.set_blocking(self.descriptor, False)
        text = b""
        with suppress(BlockingIOError):
            while piece := os.read(self.descriptor, 65536):
                text += piece
        return text.decode().replace("\r\n", "\n")

    @property
    def is_raw(self) -> bool:
        return not termios.tcgetattr(self.side)[3] & (termios.ICANON | termios.ECHO)


@contextmanager
def at_terminal() -> Generator[Screen]:
    """Be at a terminal of 30 rows and 90 columns for the block."""
    descriptor, side = os.openpty()
    found = Screen(descriptor, side)
    found.resize(30, 90)
    streams = sys.stdin, sys.stdout
    with (
        open(side, encoding="utf-8", closefd=False) as typed,
        open(side, "w", encoding="utf-8", closefd=False) as shown,
    ):
        sys.stdin, sys.stdout = typed, shown
        try:
            yield found
        finally:
            sys.stdin, sys.stdout = streams
            os.close(descriptor)
            os.close(side)

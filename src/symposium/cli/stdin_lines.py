"""Read lines of stdin without a thread, so that the reader can be cancelled."""

import asyncio
import os
import select
import sys
import termios
from typing import Final

import click

STDIN: Final = 0
READ_SIZE: Final = 64 * 1024


class StdinLines:
    """Lines of a pipe or a file."""

    def __init__(self) -> None:
        self._held = b""
        self._is_over = False

    async def read(self) -> str:
        """Read the next line.

        Raises:
            EOFError: the input has ended.
        """
        while b"\n" not in self._held and not self._is_over:
            await _readable()
            data = os.read(STDIN, READ_SIZE)
            self._is_over = not data
            self._held += data
        if not self._held:
            raise EOFError
        line, _, self._held = self._held.partition(b"\n")
        return line.decode(errors="replace")


async def ask_line(prompt: str) -> str:
    """Show a prompt on stderr and wait for a line that is typed after it.

    Raises:
        EOFError: the user has ended the input.
    """
    # A line typed before the question was shown is not an answer to it.
    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    click.echo(prompt, err=True, nl=False)
    return await StdinLines().read()


def lines_typed_ahead() -> list[str | None]:
    """Read complete lines that are waiting at the terminal; None marks the end of input.

    Alt-Enter joins a line with the next one.
    """
    found: list[str | None] = []
    data = b""
    while select.select([STDIN], [], [], 0)[0]:
        piece = os.read(STDIN, READ_SIZE)
        data += piece
        if not piece or (data.endswith(b"\n") and not data.endswith(b"\x1b\n")):
            text = data.decode(errors="replace").replace("\x1b\n", "\v")
            found += [line.replace("\v", "\n") for line in text.split("\n") if line]
            data = b""
        if not piece:
            return [*found, None]
    return found + ([data.decode(errors="replace").replace("\x1b", "")] if data else [])


async def _readable() -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(STDIN, ready.set)
    except PermissionError:
        return  # a file is always readable
    try:
        await ready.wait()
    finally:
        loop.remove_reader(STDIN)

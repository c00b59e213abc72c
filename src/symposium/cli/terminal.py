"""Attach a terminal, and read lines of standard input."""

import asyncio
import os
import select
import signal
import sys
import termios
import tty
from base64 import b64decode, b64encode
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any, Final

import click

from symposium.cli.exit_codes import ExitCode
from symposium.sessions.client import ATTACH, ENDED, INPUT, OUTPUT, RESIZE, reach
from symposium.sessions.session import TERMINAL_LOG, SessionStore

DETACH_KEY: Final = b"\x1c"
"""The key that detaches: Ctrl-\\."""

_READ: Final = 64 * 1024


async def attach_terminal(store: SessionStore, session: str) -> int:
    """Show a session's terminal and type into it, until it ends or the user detaches.

    Raises:
        SessionError: it is not running.
    """
    over = asyncio.Event()
    last_words = "detached; the agent continues"

    def shown(params: Any) -> None:
        _write(b64decode(params["data"]))

    def ended(_: Any = None) -> None:
        nonlocal last_words
        last_words = "the session has ended"
        over.set()

    async with reach(store, session, {OUTPUT: shown, ENDED: ended}, ended) as server:

        def typed() -> None:
            data = os.read(sys.stdin.fileno(), _READ)
            if not data or DETACH_KEY in data:
                over.set()
                data = data.partition(DETACH_KEY)[0]
            if data:
                server.tell(INPUT, {"data": b64encode(data).decode()})

        def resized() -> None:
            server.tell(RESIZE, _size())

        answer = await server.ask(ATTACH, _size())
        if sys.stdin.isatty():
            click.echo("[Ctrl-\\ detaches; the agent continues]", err=True)
        with _raw(), _listening(typed, resized):
            _write(b64decode(answer["scrollback"]))
            await over.wait()
        if sys.stdin.isatty():
            # The program may have left the cursor anywhere: start a new line.
            click.echo(f"\n[{last_words}]", err=True)
    return ExitCode.OK


async def show_terminal(store: SessionStore, session: str) -> int:
    """Print the last output of a session's terminal, also if the session has ended.

    Raises:
        SessionError: there is no such session.
    """
    if store.is_kept(session):
        async with reach(store, session) as server:
            # Send no size: it would resize the terminal of an attached user.
            _write(b64decode((await server.ask(ATTACH, {}))["scrollback"]))
    elif (log := store.directory(session) / TERMINAL_LOG).exists():
        _write(log.read_bytes())
    return ExitCode.OK


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _size() -> dict[str, int]:
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        return {}
    return {"rows": size.lines, "columns": size.columns}


@contextmanager
def _raw() -> Generator[None]:
    """Switch the terminal to raw mode for the block."""
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setraw(sys.stdin)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


@contextmanager
def _listening(typed: Any, resized: Any) -> Generator[None]:
    loop = asyncio.get_running_loop()
    with suppress(PermissionError):
        # The event loop cannot watch a file; if stdin is one, nothing can be typed.
        loop.add_reader(sys.stdin, typed)
    loop.add_signal_handler(signal.SIGWINCH, resized)
    try:
        yield
    finally:
        loop.remove_reader(sys.stdin)
        loop.remove_signal_handler(signal.SIGWINCH)


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

"""A terminal of ours, given over to a session's for a while."""

import asyncio
import os
import signal
import sys
import termios
import tty
from base64 import b64decode, b64encode
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any, Final

import click

from symposium.agent_sessions.keeper_client import ATTACH, ENDED, INPUT, OUTPUT, RESIZE, reach
from symposium.agent_sessions.store import TERMINAL_LOG, SessionStore
from symposium.cli.ending import ExitCode

LET_GO: Final = b"\x1c"
"""What is typed to let go: Ctrl-\\."""

_READ: Final = 64 * 1024


async def attach_terminal(store: SessionStore, session: str) -> int:
    """Show a session's terminal and type into it, until it ends or is let go.

    Raises:
        SessionError: it is not running.
    """
    over = asyncio.Event()
    last_words = "let go; it goes on"

    def shown(params: Any) -> None:
        _write(b64decode(params["data"]))

    def ended(_: Any = None) -> None:
        nonlocal last_words
        last_words = "it has ended"
        over.set()

    async with reach(store, session, {OUTPUT: shown, ENDED: ended}, ended) as keeper:

        def typed() -> None:
            data = os.read(sys.stdin.fileno(), _READ)
            if not data or LET_GO in data:
                over.set()
                data = data.partition(LET_GO)[0]
            if data:
                keeper.tell(INPUT, {"data": b64encode(data).decode()})

        def resized() -> None:
            keeper.tell(RESIZE, _size())

        answer = await keeper.ask(ATTACH, _size())
        if sys.stdin.isatty():
            click.echo("[Ctrl-\\ lets go, and it goes on]", err=True)
        with _raw(), _listening(typed, resized):
            _write(b64decode(answer["scrollback"]))
            await over.wait()
        if sys.stdin.isatty():
            # The cursor is wherever the program left it.
            click.echo(f"\n[{last_words}]", err=True)
    return ExitCode.OK


async def show_terminal(store: SessionStore, session: str) -> int:
    """Print the end of what a session's terminal has shown, and leave; also if it has ended.

    Raises:
        SessionError: there is no such session.
    """
    if store.is_kept(session):
        async with reach(store, session) as keeper:
            # No size of ours goes with it: whoever works there keeps theirs.
            _write(b64decode((await keeper.ask(ATTACH, {}))["scrollback"]))
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
    """What is typed goes on as it is; the terminal is as it was afterwards."""
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
        # A file as standard input cannot be waited for; there is nothing to type then.
        loop.add_reader(sys.stdin, typed)
    loop.add_signal_handler(signal.SIGWINCH, resized)
    try:
        yield
    finally:
        loop.remove_reader(sys.stdin)
        loop.remove_signal_handler(signal.SIGWINCH)

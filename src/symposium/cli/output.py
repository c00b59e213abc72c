"""Standard output for data, standard error for talk, and JSON events."""

import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import click

from peerwire.jsonrpc.values import encode_value


def allows_color() -> bool:
    """Whether the environment allows colors in a terminal (no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def wants_color() -> bool:
    """Whether standard output is a terminal that may show colors."""
    return sys.stdout.isatty() and allows_color()


class Output:
    """Write data at once; call `on_broken` once when the reader has closed the pipe."""

    def __init__(self, on_broken: Callable[[], object]) -> None:
        self._on_broken = on_broken
        self._is_open_line = False
        self._is_terminal = sys.stdout.isatty()
        self._above: Callable[[str], bool] | None = None
        self.is_broken = False

    def show_above(self, above: Callable[[str], bool]) -> None:
        """Let a prompt show data above itself; it returns whether it did."""
        self._above = above

    def write(self, text: str) -> None:
        """Write data, at once."""
        if self.is_broken or not text:
            return
        if self._above is None or not self._above(text):
            self._write(text)
        self._is_open_line = not text.endswith("\n")

    def end_line(self) -> None:
        """End the last line of data, if it has not been."""
        if self._is_open_line:
            self.write("\n")

    def _write(self, text: str) -> None:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            self.is_broken = True
            self._on_broken()

    def talk(self, line: str) -> None:
        """Write one line for the user."""
        # On a terminal both streams share a line; in a pipe the data stays unchanged.
        if self._is_terminal:
            self.end_line()
        click.echo(line, err=True)


VERSION: Final = 1
"""Version of the envelope; a new member does not change it."""


def event_line(kind: str, data: Any, *, seq: int = 1, session: str | None = None) -> str:
    """Format an event as a line.

    Args:
        kind: its type.
        data: its data.
        seq: its number, from 1, without gaps.
        session: the id of its session, if any.
    """
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    envelope = {"v": VERSION, "seq": seq, "ts": now, "type": kind}
    envelope |= {"session": session, "taskspace": None, "data": data}
    return encode_value(envelope).decode() + "\n"

"""Write data to stdout and messages to stderr, for a front end."""

import sys
from collections.abc import Callable

import click


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

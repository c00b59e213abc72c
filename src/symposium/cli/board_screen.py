"""Show a board on a terminal, as lines, or as events in JSON."""

import os
import shutil
import sys
from collections.abc import Sequence
from typing import Any, Final, Self

import click
from msgspec import to_builtins
from msgspec.json import encode

from localio.text import one_line, second_of
from symposium.bus.messages.changes import InboxChanged, TaskspaceChanged
from symposium.bus.protocol import Announcement
from symposium.cli.task_board import Board, Group, Line
from symposium.cli.tasks import task_line

ENTER: Final = "\x1b[?1049h\x1b[?25l"
"""Switch to the alternate screen and hide the cursor."""

LEAVE: Final = "\x1b[?25h\x1b[?1049l"
"""Show the cursor and switch back to the normal screen."""

HOME: Final = "\x1b[H"
CLEAR_LINE: Final = "\x1b[K"
CLEAR_REST: Final = "\x1b[J"
FOOTER: Final = "Ctrl-C leaves; answer what needs you with `symposium inbox`"

_TEXT_WIDTH: Final = 100

_COLORS: Final = {
    Group.NEEDS_YOU: "yellow",
    Group.FAILED: "red",
    Group.WORKING: "green",
    Group.IDLE: None,
    Group.LANDED: "cyan",
}


class FullScreen:
    """Full-screen board, drawn again when it changes."""

    def __init__(self) -> None:
        self._drawn = ""
        self._has_color = not os.environ.get("NO_COLOR")

    def __enter__(self) -> Self:
        """Switch to the alternate screen."""
        _write(ENTER)
        return self

    def __exit__(self, *error: object) -> None:
        """Restore the normal screen."""
        _write(LEAVE)

    def show(self, board: Board, announced: Sequence[Announcement]) -> None:
        """Draw the board."""
        del announced
        size = shutil.get_terminal_size()
        # The last column stays empty: some terminals wrap after it.
        lines = board.lines(size.columns - 1, max(1, size.lines - 2))
        footer = Line(FOOTER[: size.columns - 1])
        texts = [self._styled(each) for each in (*lines, Line(""), footer)]
        frame = HOME + "\r\n".join(f"{each}{CLEAR_LINE}" for each in texts) + CLEAR_REST
        if frame != self._drawn:
            self._drawn = frame
            _write(frame)

    def _styled(self, line: Line) -> str:
        if not self._has_color or line.group is None:
            return line.text
        if line.is_heading:
            return click.style(line.text, fg=_COLORS[line.group], bold=True)
        return click.style(line.text, dim=True) if line.group is Group.LANDED else line.text


class _Printed:
    """Printed output, which needs no alternate screen."""

    def __init__(self) -> None:
        self._has_begun = False

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing: there is no screen to restore."""


class Lines(_Printed):
    """Print every task first, then one line for each change."""

    def show(self, board: Board, announced: Sequence[Announcement]) -> None:
        """Print what is new."""
        if not self._has_begun:
            self._has_begun = True
            for line in board.lines(_TEXT_WIDTH):
                click.echo(line.text)
        for each in announced:
            match each:
                case TaskspaceChanged():
                    click.echo(f"{task_line(each.taskspace)}  ({each.cause})")
                case InboxChanged():
                    for item in each.added:
                        text = one_line(item.text, width=_TEXT_WIDTH)
                        click.echo(f"? {item.name}: {text}  (since {second_of(item.at)})")
                case _:
                    pass
        sys.stdout.flush()


class JsonLines(_Printed):
    """Print each announcement as one JSON object per line; first all tasks and items."""

    def show(self, board: Board, announced: Sequence[Announcement]) -> None:
        """Print what is new."""
        if not self._has_begun:
            self._has_begun = True
            for task in board.tasks.values():
                self._print(TaskspaceChanged(taskspace=task, cause="listed"))
            items = tuple(board.items.values())
            self._print(InboxChanged(added=items, waiting=len(items)))
        for each in announced:
            self._print(each)
        sys.stdout.flush()

    def _print(self, message: Announcement) -> None:
        event: dict[str, Any] = {"type": message.about.type, **to_builtins(message)}
        click.echo(encode(event).decode())


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()

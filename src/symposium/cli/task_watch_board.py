"""A board of all tasks: its lines, and the screen that shows it."""

import shutil
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Self

import click
from msgspec import to_builtins
from msgspec.json import encode

from localio.text import clock_of, one_line, second_of
from symposium.bus.activity_words import WAITS_FOR_USER, Activity
from symposium.bus.messages.announcements import InboxChanged, TaskspaceChanged
from symposium.bus.messages.tasks import InboxItem, TaskView
from symposium.bus.protocol import Announcement
from symposium.cli.output import allows_color
from symposium.cli.tasks import glyph_of, task_line

NAME_WIDTH: Final = 28
STATE_WIDTH: Final = 21
SHORT_ID: Final = 8

NARROW: Final = 90
"""Width below which names are shortened and ids left out, to leave room for the reason."""

_MAX_TEXT: Final = 500
_WIDE: Final = frozenset("WF")


class Group(Enum):
    """Groups of the board, in their order."""

    NEEDS_YOU = "needs you"
    FAILED = "failed"
    WORKING = "working"
    IDLE = "idle"
    LANDED = "landed"


_OF_ACTIVITIES: Final[Mapping[Activity | None, Group]] = {
    **dict.fromkeys({Activity.FINISHED, *WAITS_FOR_USER}, Group.NEEDS_YOU),
    **dict.fromkeys(
        {Activity.SETUP_FAILED, Activity.LOST, Activity.MISSING, Activity.NO_ANSWER}, Group.FAILED
    ),
    **dict.fromkeys({Activity.SETTING_UP, Activity.WORKING, Activity.DELETING}, Group.WORKING),
    Activity.LANDED: Group.LANDED,
}


@dataclass(frozen=True, slots=True)
class BoardLine:
    """A line of the board; `group` is missing for a line outside the groups."""

    text: str
    group: Group | None = None
    is_heading: bool = False


@dataclass(slots=True)
class Board:
    """The tasks and inbox items to show; announcements update it.

    Attributes:
        tasks: tasks that are not archived, by id.
        items: waiting inbox items, by id.
        reasons_at: when the shown reason of each task arose, ISO 8601.
    """

    tasks: dict[str, TaskView] = field(default_factory=dict[str, TaskView])
    items: dict[str, InboxItem] = field(default_factory=dict[str, InboxItem])
    reasons_at: dict[str, str] = field(default_factory=dict[str, str])

    def start(self, tasks: Sequence[TaskView], items: Sequence[InboxItem]) -> None:
        """Replace everything that is shown."""
        self.tasks = {each.id: each for each in tasks if each.archived_at is None}
        self.items = {each.id: each for each in items}
        self.reasons_at = {
            id_: self.reasons_at.get(id_, each.last.at if each.last else each.activated_at)
            for id_, each in self.tasks.items()
        }

    def task_changed(self, message: TaskspaceChanged, now: str) -> None:
        """Show the new view of a task."""
        task = message.taskspace
        if task.archived_at is not None:
            self.task_gone(task.id)
            return
        before = self.tasks.get(task.id)
        self.tasks[task.id] = task
        if before is None or before.state != task.state:
            self.reasons_at[task.id] = now

    def task_gone(self, id_: str) -> None:
        self.tasks.pop(id_, None)
        self.reasons_at.pop(id_, None)

    def inbox_changed(self, message: InboxChanged) -> None:
        """Add new items and remove settled ones."""
        for item in message.added:
            if item.id not in self.items:
                self.reasons_at[item.taskspace] = item.at
            self.items[item.id] = item
        for settled in message.settled:
            self.items.pop(settled.item, None)

    def group_of(self, task: TaskView) -> Group:
        waiting = {each.kind for each in self._waiting(task.id)}
        if waiting - {"failed"} or task.activity in WAITS_FOR_USER:
            return Group.NEEDS_YOU
        if waiting or (task.activity is Activity.AGENT_ENDED and task.reason):
            return Group.FAILED
        return _OF_ACTIVITIES.get(task.activity, Group.IDLE)

    def lines(self, width: int, height: int | None = None) -> list[BoardLine]:
        """Format the board for a screen size; the last row counts tasks that do not fit."""
        found: list[BoardLine] = []
        for group in Group:
            tasks = [each for each in self.tasks.values() if self.group_of(each) is group]
            if tasks:
                tasks.sort(key=lambda each: self.reasons_at.get(each.id, ""), reverse=True)
                heading = BoardLine(f"{group.value} ({len(tasks)})", group, is_heading=True)
                found += [heading, *(BoardLine(self._row(each, width), group) for each in tasks)]
        if not found:
            found = [BoardLine("No tasks; `symposium task new NAME` creates one.")]
        found = [BoardLine(cut(each.text, width), each.group, each.is_heading) for each in found]
        if height is None or len(found) <= height:
            return found
        left = sum(not each.is_heading for each in found[height - 1 :])
        return [*found[: height - 1], BoardLine(cut(f"… {left} more; enlarge the window", width))]

    def _row(self, task: TaskView, width: int) -> str:
        at = self.reasons_at.get(task.id, "")
        is_narrow = width < NARROW
        name = padded(task.name, width // 4 if is_narrow else NAME_WIDTH)
        id_ = "" if is_narrow else f"  {task.id[:SHORT_ID]}"
        clock = clock_of(at)[:5] if at else "     "
        row = f"  {glyph_of(task)} {name}  {padded(task.state, STATE_WIDTH)}{id_}  {clock}"
        reason = self._reason(task)
        return f"{row}  {reason}" if reason else row

    def _reason(self, task: TaskView) -> str:
        waiting = self._waiting(task.id)
        if waiting:
            more = f" (and {len(waiting) - 1} more)" if len(waiting) > 1 else ""
            return one_line(waiting[0].text, width=_MAX_TEXT) + more
        if task.reason and self.group_of(task) in {Group.NEEDS_YOU, Group.FAILED}:
            return one_line(task.reason, width=_MAX_TEXT)
        return one_line(task.last.message, width=_MAX_TEXT) if task.last is not None else ""

    def _waiting(self, task: str) -> list[InboxItem]:
        return [each for each in self.items.values() if each.taskspace == task]


def columns(text: str) -> int:
    """Count the terminal columns that a text takes."""
    return sum(_columns_of(character) for character in text)


def cut(text: str, width: int) -> str:
    """Cut a text to a number of terminal columns."""
    if columns(text) <= width:
        return text
    kept, taken = "", 0
    for character in text:
        taken += _columns_of(character)
        if taken > width - 1:
            break
        kept += character
    return f"{kept}…"


def padded(text: str, width: int) -> str:
    """Cut or pad a text to a number of terminal columns."""
    short = cut(one_line(text, width=_MAX_TEXT), width)
    return short + " " * (width - columns(short))


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1


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
        self._has_color = allows_color()

    def __enter__(self) -> Self:
        """Switch to the alternate screen."""
        _write(ENTER)
        return self

    def __exit__(self, *error: object) -> None:
        """Restore the normal screen."""
        _write(LEAVE)

    def show(self, board: Board, announced: Sequence[Announcement]) -> None:
        del announced
        size = shutil.get_terminal_size()
        # The last column stays empty: some terminals wrap after it.
        lines = board.lines(size.columns - 1, max(1, size.lines - 2))
        footer = BoardLine(FOOTER[: size.columns - 1])
        texts = [self._styled(each) for each in (*lines, BoardLine(""), footer)]
        frame = HOME + "\r\n".join(f"{each}{CLEAR_LINE}" for each in texts) + CLEAR_REST
        if frame != self._drawn:
            self._drawn = frame
            _write(frame)

    def _styled(self, line: BoardLine) -> str:
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
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing: there is no screen to restore."""


class BoardLines(_Printed):
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


class JsonLineStream(_Printed):
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

"""Shared by the task commands: ask the daemon, find a task by name, show it."""

import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from msgspec import to_builtins

from localio.text import minute_of, one_line, second_of
from symposium.agent_sessions.store import SessionStore
from symposium.bus.client import BusClient
from symposium.bus.messages.agents import SIGNS, ProgressCategory
from symposium.bus.messages.broker import Progress
from symposium.bus.messages.tasks import (
    FindTaskspace,
    GuidanceReading,
    ShowTaskspace,
    SnapshotView,
    TaskShown,
    TaskView,
)
from symposium.bus.messages.worktrees import Undone
from symposium.bus.protocol import Request
from symposium.cli.agent_views import dated, print_json
from symposium.cli.bus_options import client_for
from symposium.cli.running import run
from symposium.config.paths import paths
from symposium.errors import NotFoundError

GLYPHS: Final = {
    "setting up": "…",
    "working": ">",
    "idle": "-",
    "setup failed": "x",
    "lost contact": "x",
    "agent ended": "-",
    "finished (unreviewed)": "*",
    "landed": "+",
    "ready": ".",
    "archived": " ",
}
"""Signs shown beside the word for a state; a state that waits for the user has `?`."""

WIDTH: Final = 60

PAGE: Final = 100
"""Tasks on one page of the list."""

_Answer = TypeVar("_Answer")


async def ask(message: Request[_Answer], socket: Path | None = None) -> _Answer:
    """Ask the daemon, starting it if necessary; print its progress to stderr.

    Raises:
        BusError: it refuses, or cannot be reached.
    """
    async with client_for(socket) as client:
        return await _ask(client, message)


def undone_lines(task: str, undone: Undone) -> tuple[str, ...]:
    """Describe what an undo has restored, and the command that reverses it."""
    again = f"`symposium task undo {task[:8]} --to {undone.before.ref}` reverses this undo"
    return (f"restored: {undone.now.reason}", again, *undone.lines)


async def find_task(named: str) -> TaskView:
    """Find the one task with this id, beginning of an id, name, or branch.

    A deleted task that can be restored matches only if no other task does.

    Raises:
        NotFoundError: no task matches, or several do.
    """
    async with client_for(None) as client:
        return await _find(client, named)


async def find_and_show(named: str, log: int, *, is_whole: bool = True) -> TaskShown:
    """Find a task and show it with the end of its log, over one connection.

    Args:
        named: see `find_task`.
        log: number of the latest log lines.
        is_whole: whether to include its snapshots and its set-up.

    Raises:
        NotFoundError: no task matches, or several do.
    """
    async with client_for(None) as client:
        id_ = (await _find(client, named)).id
        return await _ask(client, ShowTaskspace(taskspace_uuid=id_, log=log, is_whole=is_whole))


async def _ask(client: BusClient, message: Request[_Answer]) -> _Answer:
    def news(progress: Progress) -> None:
        is_counted = progress.done is not None and progress.total is not None
        count = f" ({progress.done:.0f}/{progress.total:.0f})" if is_counted else ""
        click.echo(f"… {progress.message}{count}", err=True)

    await client.ready()
    return await client.request(message, on_progress=news)


async def _find(client: BusClient, named: str) -> TaskView:
    found = (await _ask(client, FindTaskspace(named=named))).taskspaces
    if len(found) == 1:
        return found[0]
    if found:
        several = "; ".join(_told_apart(each) for each in found)
        raise NotFoundError(f"several tasks match {named!r}: {several}", "give an id")
    raise NotFoundError(f"there is no task {named!r}", "`symposium task list` lists the tasks")


def sessions() -> SessionStore:
    """Open the store of agent sessions."""
    return SessionStore(paths())


def doing(work: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Run the coroutine of a command."""
    return run(work())


def show_tasks(found: Sequence[TaskView], *, as_json: bool) -> None:
    """Print one line per task, or JSON."""
    if as_json:
        print_json([to_builtins(each) for each in found])
        return
    for each in found:
        click.echo(task_line(each))
    if not found:
        click.echo("There are no tasks; `symposium task new NAME` creates one.", err=True)


def task_line(task: TaskView) -> str:
    """Format state, name, id, and the last line of progress."""
    name = one_line(task.name, width=32)
    last = f'  "{one_line(task.last.message, width=WIDTH)}"' if task.last is not None else ""
    return f"{glyph_of(task)} {name:32}  {task.state:18}  {task.id[:8]}{last}"


def reading_lines(guidance: Sequence[GuidanceReading]) -> Iterator[str]:
    """Format each guidance text that the agents read, with its layer and the time."""
    for each in guidance:
        layer = f" ({one_line(each.layer, width=20)})" if each.layer else ""
        yield f"{one_line(each.id, width=100)}{layer} read at {minute_of(each.at)}"


def glyph_of(task: TaskView) -> str:
    """Choose the sign beside the state of a task."""
    if task.state.startswith(("waiting", "paused")):
        return "?"
    return GLYPHS.get(task.state, "!")


def show_task(shown: TaskShown) -> None:
    """Print the details of a task."""
    about = shown.taskspace
    click.echo(task_line(about))
    for label, value in (
        ("id", about.id),
        ("description", about.description),
        ("worktree", about.worktree),
        ("branch", f"{about.branch} from {about.base}"),
        ("agent", f"{about.agent} ({about.session})" if about.agent else "none"),
        ("landed", f"{about.landed[:12]} at {minute_of(about.landed_at)}" if about.landed else ""),
        ("ports", "" if about.ports is None else f"{about.ports[0]}, {about.ports[1]} of them"),
        ("why", about.reason),
        ("spent", about.spent),
        ("conflicts", "; ".join(about.conflicts)),
        ("set-up", "; ".join(shown.recipe)),
        ("guidance", "; ".join(reading_lines(shown.guidance))),
        ("not set up", _guessed(shown.guesses)),
        ("snapshots", str(len(shown.snapshots))),
    ):
        if value:
            click.echo(f"  {label:12} {value}")
    for entry in shown.log:
        click.echo(f"  {minute_of(entry.at)} {category_text(entry.category):9} {entry.message}")


def category_text(category: str) -> str:
    """Format a category, on a terminal after its sign."""
    if not sys.stdout.isatty():
        return category
    return f"{SIGNS[ProgressCategory(category)][-1]} {category}"


def _guessed(guesses: Sequence[str]) -> str:
    if not guesses:
        return ""
    return f"{'; '.join(guesses)}; add it to .symposium/workspace.toml to run it"


def is_interactive() -> bool:
    """Whether a user at a terminal can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _told_apart(task: TaskView) -> str:
    since = f", deleted {minute_of(task.archived_at)}" if task.archived_at else ""
    return f"{task.id[:8]} ({task.name}, created {minute_of(task.created_at)}{since})"


def show_snapshots(snapshots: Sequence[SnapshotView], *, as_json: bool) -> None:
    """List the snapshots of a task, the oldest first."""
    if as_json:
        print_json({"snapshots": [dated(to_builtins(each), "at") for each in snapshots]})
        return
    for each in snapshots:
        click.echo(f"{each.ref}  {second_of(each.at)}  {one_line(each.reason, width=WIDTH)}")
    if not snapshots:
        click.echo("no snapshots", err=True)

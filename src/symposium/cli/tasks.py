"""What the commands on taskspaces share: asking the daemon, finding one by name, showing it."""

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
"""Beside the word, never in its place; what waits for a person has `?`."""

WIDTH: Final = 60

PAGE: Final = 100
"""Tasks that a list shows at once."""

_Answer = TypeVar("_Answer")


async def ask(message: Request[_Answer], socket: Path | None = None) -> _Answer:
    """Ask the daemon, which is started if none runs; its news go to standard error.

    Raises:
        BusError: it refuses, or cannot be reached.
    """
    async with client_for(socket) as client:
        return await _ask(client, message)


def undone_lines(task: str, undone: Undone) -> tuple[str, ...]:
    """What an undo has restored, and how to take it back."""
    again = f"`symposium task undo {task[:8]} --to {undone.before.ref}` takes it back"
    return (f"back to: {undone.now.reason}", again, *undone.lines)


async def find_task(named: str) -> TaskView:
    """The taskspace of an id, an id's beginning, a name or a branch, if there is exactly one.

    One that is deleted, and could come back, is meant only where no other is.

    Raises:
        NotFoundError: there is none, or more than one.
    """
    async with client_for(None) as client:
        return await _find(client, named)


async def find_and_show(named: str, log: int, *, is_whole: bool = True) -> TaskShown:
    """The one taskspace that is meant, with the end of its log; over one connection.

    Args:
        named: as for `find_task`.
        log: lines, the newest.
        is_whole: whether its snapshots and its set-up are wanted.

    Raises:
        NotFoundError: there is none, or more than one.
    """
    async with client_for(None) as client:
        id_ = (await _find(client, named)).id
        return await _ask(client, ShowTaskspace(taskspace_uuid=id_, log=log, is_whole=is_whole))


async def _ask(client: BusClient, message: Request[_Answer]) -> _Answer:
    def news(told: Progress) -> None:
        is_counted = told.done is not None and told.total is not None
        count = f" ({told.done:.0f}/{told.total:.0f})" if is_counted else ""
        click.echo(f"… {told.message}{count}", err=True)

    await client.ready()
    return await client.request(message, on_progress=news)


async def _find(client: BusClient, named: str) -> TaskView:
    found = (await _ask(client, FindTaskspace(named=named))).taskspaces
    if len(found) == 1:
        return found[0]
    if found:
        several = "; ".join(_told_apart(each) for each in found)
        raise NotFoundError(f"{named!r} is more than one taskspace: {several}", "give an id")
    raise NotFoundError(
        f"there is no taskspace {named!r}", "`symposium task list` shows those there are"
    )


def sessions() -> SessionStore:
    """Where the sessions of agents are."""
    return SessionStore(paths())


def doing(work: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Run a command's one coroutine."""
    return run(work())


def show_tasks(found: Sequence[TaskView], *, as_json: bool) -> None:
    """A line for each: state, name, what was said last."""
    if as_json:
        print_json([to_builtins(each) for each in found])
        return
    for each in found:
        click.echo(task_line(each))
    if not found:
        click.echo("There are no taskspaces; `symposium task new NAME` makes one.", err=True)


def task_line(task: TaskView) -> str:
    """State, name, id, and what was said last."""
    name = one_line(task.name, width=32)
    last = f'  "{one_line(task.last.message, width=WIDTH)}"' if task.last is not None else ""
    return f"{glyph_of(task)} {name:32}  {task.state:18}  {task.id[:8]}{last}"


def reading_lines(guidance: Sequence[GuidanceReading]) -> Iterator[str]:
    """Each text that the agents read, with its layer and when they last read it."""
    for each in guidance:
        layer = f" ({one_line(each.layer, width=20)})" if each.layer else ""
        yield f"{one_line(each.id, width=100)}{layer} read at {minute_of(each.at)}"


def glyph_of(task: TaskView) -> str:
    """The sign beside the state of a task."""
    if task.state.startswith(("waiting", "paused")):
        return "?"
    return GLYPHS.get(task.state, "!")


def show_task(shown: TaskShown) -> None:
    """All that is known of one."""
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
    """The word for a category, after its sign on a terminal."""
    if not sys.stdout.isatty():
        return category
    return f"{SIGNS[ProgressCategory(category)][-1]} {category}"


def _guessed(guesses: Sequence[str]) -> str:
    if not guesses:
        return ""
    return f"{'; '.join(guesses)}; say so in .symposium/workspace.toml to have it run"


def is_interactive() -> bool:
    """Whether there is a person to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _told_apart(task: TaskView) -> str:
    since = f", deleted {minute_of(task.archived_at)}" if task.archived_at else ""
    return f"{task.id[:8]} ({task.name}, made {minute_of(task.created_at)}{since})"


def show_snapshots(snapshots: Sequence[SnapshotView], *, as_json: bool) -> None:
    """List the snapshots of a task, the oldest first."""
    if as_json:
        print_json({"snapshots": [dated(to_builtins(each), "at") for each in snapshots]})
        return
    for each in snapshots:
        click.echo(f"{each.ref}  {second_of(each.at)}  {one_line(each.reason, width=WIDTH)}")
    if not snapshots:
        click.echo("no snapshots", err=True)

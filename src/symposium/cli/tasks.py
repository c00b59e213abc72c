"""Find tasks, show them, and look at their worktrees."""

import asyncio
import os
import shlex
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import click
from msgspec import to_builtins

from localio.git import GitResult, open_repository
from localio.text import minute_of, one_line, plain_text, second_of
from symposium.bus.activity_words import WAITS_FOR_USER, Activity
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
from symposium.bus.messages.worktrees import ConflictView, OverlapView, Undone
from symposium.bus.protocol import BusRequest
from symposium.cli.agent_views import dated, print_json
from symposium.cli.bus import client_for
from symposium.cli.exit_codes import ExitCode
from symposium.cli.options import run
from symposium.cli.output import wants_color
from symposium.config.git import stand_ins
from symposium.config.paths import paths
from symposium.errors import NotFoundError
from symposium.sessions.session import SessionStore

GLYPHS: Final[Mapping[Activity | None, str]] = {
    **dict.fromkeys(WAITS_FOR_USER, "?"),
    Activity.SETTING_UP: "…",
    Activity.WORKING: ">",
    Activity.IDLE: "-",
    Activity.SETUP_FAILED: "x",
    Activity.LOST: "x",
    Activity.AGENT_ENDED: "-",
    Activity.FINISHED: "*",
    Activity.LANDED: "+",
    Activity.READY: ".",
    Activity.ARCHIVED: " ",
}
"""Signs shown beside the word for a state; `!` for the others."""

WIDTH: Final = 60

PAGE: Final = 100
"""Tasks on one page of the list."""

_Answer = TypeVar("_Answer")


async def ask(message: BusRequest[_Answer], socket: Path | None = None) -> _Answer:
    """Ask the daemon, starting it if necessary; print its progress to stderr.

    Raises:
        BusError: it refuses, or cannot be reached.
    """
    async with client_for(socket) as client:
        return await _ask(client, message)


def echo_plain(text: str, *, err: bool = False) -> None:
    """Print a text that an agent or a repository may have made, without control characters."""
    click.echo(plain_text(text), err=err)


def undone_lines(task: str, undone: Undone) -> tuple[str, ...]:
    """Describe what an undo has restored, and the command that reverses it."""
    again = f"`symposium task undo {task[:8]} --to {undone.before.ref}` reverses this undo"
    return (f'restored the snapshot "{undone.now.reason}"', again, *undone.lines)


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
        is_whole: whether to include its snapshots and its setup.

    Raises:
        NotFoundError: no task matches, or several do.
    """
    async with client_for(None) as client:
        id_ = (await _find(client, named)).id
        return await _ask(client, ShowTaskspace(taskspace_uuid=id_, log=log, is_whole=is_whole))


async def _ask(client: BusClient, message: BusRequest[_Answer]) -> _Answer:
    def news(progress: Progress) -> None:
        is_counted = progress.done is not None and progress.total is not None
        count = f" ({progress.done:.0f}/{progress.total:.0f})" if is_counted else ""
        echo_plain(f"… {progress.message}{count}", err=True)

    await client.ready()
    return await client.request(message, on_progress=news)


async def _find(client: BusClient, named: str) -> TaskView:
    found = (await _ask(client, FindTaskspace(named=named))).taskspaces
    if len(found) == 1:
        return found[0]
    if found:
        several = "; ".join(_unambiguous_name(each) for each in found)
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
    return GLYPHS.get(task.activity, "!")


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
        ("ports", "" if about.ports is None else f"{about.ports[0]} to {sum(about.ports) - 1}"),
        ("why", about.reason),
        ("spent", about.spent),
        ("conflicts", "; ".join(about.conflicts)),
        ("setup", "; ".join(shown.recipe)),
        ("guidance", "; ".join(reading_lines(shown.guidance))),
        ("setup guess", _guessed(shown.guesses)),
        ("snapshots", str(len(shown.snapshots))),
    ):
        if value:
            echo_plain(f"  {label:12} {value}")
    for entry in shown.log:
        echo_plain(f"  {minute_of(entry.at)} {category_text(entry.category):9} {entry.message}")


def category_text(category: str) -> str:
    """Format a category, on a terminal after its sign."""
    if not sys.stdout.isatty():
        return category
    return f"{SIGNS[ProgressCategory(category)][-1]} {category}"


def _guessed(guesses: Sequence[str]) -> str:
    if not guesses:
        return ""
    return f"{'; '.join(guesses)}; to run these, add them to .symposium/workspace.toml"


def is_interactive() -> bool:
    """Whether a user at a terminal can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _unambiguous_name(task: TaskView) -> str:
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


MAX_NEW = 200
"""Maximum number of new files to show; each needs one git process."""

_EDITORS = ("SYMPOSIUM_EDITOR", "VISUAL")


async def open_editor(worktree: Path, named: str | None) -> int:
    """Start an editor on a worktree; without an editor, print the path.

    Raises:
        NotFoundError: the worktree or the editor does not exist.
    """
    _check_there(worktree)
    editor = named or next((os.environ[name] for name in _EDITORS if os.environ.get(name)), None)
    if editor is None:
        click.echo(str(worktree))
        return ExitCode.OK
    try:
        process = await asyncio.create_subprocess_exec(*shlex.split(editor), str(worktree))
    except (FileNotFoundError, ValueError) as error:
        raise NotFoundError(
            f"cannot start the editor {editor!r}: {error}", "choose another with --editor"
        ) from error
    return await process.wait()


async def show_diff(task: TaskView, *, is_stat: bool) -> int:
    """Print the changes of a task against its base, committed or not.

    Raises:
        NotFoundError: its worktree does not exist.
        GitRunError: git fails.
    """
    worktree = Path(task.worktree)
    _check_there(worktree)
    repository = await open_repository(worktree, stand_ins())
    form = ["--no-ext-diff", "--no-textconv", "--no-color", *(["--stat"] if is_stat else [])]
    since = ["--merge-base", task.base] if task.base else ["HEAD"]
    if not task.base:
        click.echo("base branch unknown; showing only uncommitted changes", err=True)
    _echo_diff(await repository.checked("diff", *form, *since, "--"))
    new = (await repository.output("ls-files", "-z", "--others", "--exclude-standard")).split("\0")
    names = [name for name in new if name and not name.endswith("/")]
    for name in names[:MAX_NEW]:
        _echo_diff(await repository.ask("diff", "--no-index", *form, "--", os.devnull, name))
    for name in (*names[MAX_NEW:], *(name for name in new if name.endswith("/"))):
        echo_plain(f"new, not shown: {name}", err=True)
    return ExitCode.OK


def _echo_diff(diff: GitResult) -> None:
    """Print a diff unchanged, for other programs; in a terminal escaped, and colored as by git."""
    if sys.stdout.isatty():
        is_colored = wants_color()
        for line in patch_lines(diff.shown):
            click.secho(line.text, fg=line.color, bold=line.is_bold, color=is_colored)
    else:
        # As bytes: click removes escape sequences from text that is not for a terminal.
        click.echo(diff.out, nl=False)
    if diff.is_cut:
        echo_plain(f"the diff is cut after {len(diff.out):,} bytes; see it with git diff", err=True)


class PatchLine(NamedTuple):
    """One line of a diff, safe for terminals."""

    text: str
    color: str | None = None
    is_bold: bool | None = None


def patch_lines(text: str) -> Iterator[PatchLine]:
    """Escape the lines of a diff, and choose their colors.

    Git's own colors are not used: files of an agent may contain sequences that hide text, and they
    look the same.
    """
    is_head = True
    for line in plain_text(text.replace("\r\n", "␍\n")).splitlines():
        if line.startswith("diff --git "):
            is_head = True
        if line.startswith("@@ "):
            is_head = False
            yield PatchLine(line, "cyan")
        elif is_head:
            yield PatchLine(line, is_bold=None if line.startswith(" ") else True)
        else:
            yield PatchLine(line, {"+": "green", "-": "red"}.get(line[:1]))


def _check_there(worktree: Path) -> None:
    if not worktree.is_dir():
        raise NotFoundError(f"{worktree} does not exist", "`symposium task undo` restores it")


BASE: Final = "base"
"""Id that an overlap uses for the base branch."""

_WIDTH: Final = 200


def conflict_lines(found: Sequence[OverlapView], names: Mapping[str, str]) -> list[str]:
    """Format the lines to print: pairs by file; then pairs that could not be compared.

    Args:
        found: the conflicts.
        names: names of tasks, by id; two tasks of one name are shown with their ids.
    """
    by_file: dict[str, list[str]] = {}
    apart: list[str] = []
    for each in found:
        ends = _called(each.first, names), _called(each.second, names)
        if each.problem:
            reason = one_line(each.problem, width=_WIDTH)
            apart.append(f"{ends[0]} and {ends[1]} could not be compared: {reason}")
        for conflict in each.conflicts:
            by_file.setdefault(conflict.path, []).append(_pair(ends, conflict))
    lines = [
        line
        for path, pairs in sorted(by_file.items())
        for line in (one_line(path, width=_WIDTH), *(f"  {pair}" for pair in pairs))
    ]
    return [*lines, *apart]


def _called(id_: str, names: Mapping[str, str]) -> str:
    if id_ == BASE:
        return "its base"
    name = names.get(id_, id_)
    is_one_of_several = list(names.values()).count(name) > 1
    shown = one_line(name, width=_WIDTH)
    return f"{shown} ({id_[:8]})" if is_one_of_several else shown


def _pair(ends: tuple[str, str], conflict: ConflictView) -> str:
    sides = zip(ends, (conflict.first, conflict.second), strict=True)
    both = " and ".join(f"{end}{_numbers(ranges)}" for end, ranges in sides)
    return f"{both} ({conflict.kind})"


def _numbers(ranges: Sequence[tuple[int, int]]) -> str:
    """Format line numbers from 1; a side that only removed lines has no numbers."""
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    shown = [each for each, (first, last) in zip(texts, ranges, strict=True) if first <= last]
    return f":{','.join(shown)}" if shown else ""

"""Open a task's worktree in an editor, or show its changes."""

import asyncio
import os
import shlex
import sys
from pathlib import Path

import click

from symposium.bus.messages.tasks import TaskView
from symposium.cli.ending import ExitCode
from symposium.errors import NotFoundError
from symposium.git.questions import open_repository

MOST_NEW = 200
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
        GitError: git fails.
    """
    worktree = Path(task.worktree)
    _check_there(worktree)
    repository = await open_repository(worktree)
    form = ["--no-ext-diff", "--no-textconv", *(["--stat"] if is_stat else [])]
    color = ["--color"] if sys.stdout.isatty() and "NO_COLOR" not in os.environ else []
    since = ["--merge-base", task.base] if task.base else ["HEAD"]
    if not task.base:
        click.echo("base branch unknown; showing only uncommitted changes", err=True)
    click.echo(
        await repository.told("diff", *form, *color, *since, "--"),
        nl=False,
    )
    new = (await repository.told("ls-files", "-z", "--others", "--exclude-standard")).split("\0")
    names = [name for name in new if name and not name.endswith("/")]
    for name in names[:MOST_NEW]:
        shown = await repository.ask("diff", "--no-index", *form, *color, "--", os.devnull, name)
        click.echo(shown.text, nl=False)
    for name in (*names[MOST_NEW:], *(name for name in new if name.endswith("/"))):
        click.echo(f"new, not shown: {name}", err=True)
    return ExitCode.OK


def _check_there(worktree: Path) -> None:
    if not worktree.is_dir():
        raise NotFoundError(f"{worktree} does not exist", "`symposium task undo` restores it")

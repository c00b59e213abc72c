"""After a start: ends what a kill has left half done, one way or the other."""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from sqlite3 import Connection

from symposium.git.program import Git, GitRunError
from symposium.taskspaces import operations
from symposium.taskspaces.creation import undo_creation
from symposium.taskspaces.deletion import removal, undo
from symposium.taskspaces.deletion.archive import read_archive, trash_of
from symposium.taskspaces.deletion.work_tree_checks import status_of
from symposium.taskspaces.events import Changed
from symposium.taskspaces.failures import TaskspaceError
from symposium.taskspaces.git.repository import Repository, commit_of
from symposium.taskspaces.ground import Ground
from symposium.taskspaces.journal import load, save
from symposium.taskspaces.landing.move import take_back
from symposium.taskspaces.model import Standing, Taskspace
from symposium.taskspaces.operations import Kind, Operation, unfinished
from symposium.taskspaces.projects import open_project
from symposium.taskspaces.setting_up import INTERRUPTED
from symposium.taskspaces.snapshots.gitdir import admin_directory
from symposium.taskspaces.subjects import subject_of

_PATIENCE = 10.0
"""Seconds that a git of before the kill may still be at work."""

_TICK = 0.1
"""Seconds by which the clock of a file system may be behind."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a start found and did about it, one line each, for people."""

    lines: tuple[str, ...] = ()


async def recover(ground: Ground) -> Recovered:
    """End every operation that was begun, or say why not; the journal has a table of them.

    What cannot be ended is left as it is. No other task is looked at: a start must not take longer
    the more tasks there are. See `reconcile`.
    """
    return Recovered(tuple(await _end_all(ground)))


async def _end_all(ground: Ground) -> list[str]:
    lines: list[str] = []
    for operation in await ground.journal.look(unfinished):
        taskspace = await ground.journal.look(
            lambda connection, id_=operation.taskspace: load(connection, id_)
        )
        if taskspace is None:
            continue
        try:
            said = await _end(ground, taskspace, operation)
        except (GitRunError, TaskspaceError, OSError) as error:
            said = f"{operation.kind} could not be ended: {error}"
            await ground.put(replace(taskspace, reason=said))
        lines.append(f"{taskspace.name}: {said}")
        await _write_file(ground, taskspace)
    return lines


async def _write_file(ground: Ground, taskspace: Taskspace) -> None:
    """Write what the operation may not have written; `reconcile` reports what is in the way."""
    with suppress(GitRunError, TaskspaceError, OSError):
        await ground.mirror(taskspace.id)


async def _end(ground: Ground, taskspace: Taskspace, operation: Operation) -> str:
    opened = await open_project(Path(taskspace.project))
    repository = opened.repository
    match operation.kind:
        case Kind.CREATE:
            return await _end_create(ground, taskspace, repository, operation)
        case Kind.DELETE:
            return await _end_delete(ground, taskspace, repository, operation)
        case Kind.UNDO:
            trash = trash_of(ground.state, taskspace.id)
            if taskspace.standing is not Standing.ARCHIVED:
                await ground.journal.change(lambda link: operations.end(link, taskspace.id))
                return "was brought back"
            manifest = await asyncio.to_thread(read_archive, trash)
            await undo.go_on_undoing(ground, taskspace, repository, operation, manifest)
            return "was brought back"
        case Kind.LAND:
            return await _end_land(ground, taskspace, repository, operation)


async def _end_create(
    ground: Ground, taskspace: Taskspace, repository: Repository, operation: Operation
) -> str:
    if not operation.is_past("create.worktree") and not await _holds_work(taskspace, repository):
        await undo_creation(ground, taskspace, repository)
        return "was not yet made, and is not"
    await _settle(ground, replace(taskspace, standing=Standing.SETUP_FAILED, reason=INTERRUPTED))
    return INTERRUPTED


async def _holds_work(taskspace: Taskspace, repository: Repository) -> bool:
    """Whether a half-made worktree holds anything but what git was putting there."""
    path = Path(taskspace.worktree)
    await _wait_for_git(repository, path)
    if not await asyncio.to_thread((path / ".git").exists):
        return False
    try:
        status = await status_of(Git(path))
    except (GitRunError, TaskspaceError):
        return False
    return bool(status.untracked)


async def _wait_for_git(repository: Repository, path: Path) -> None:
    """A git that outlived us holds a lock on the index that it makes; it is soon done."""
    lock = admin_directory(path, repository.common) / "index.lock"
    await asyncio.to_thread(_wait_until_gone, lock)


def _wait_until_gone(lock: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and lock.exists():
        time.sleep(0.1)


async def _end_delete(
    ground: Ground, taskspace: Taskspace, repository: Repository, operation: Operation
) -> str:
    if operation.is_past("delete.anchored"):
        await removal.go_on(ground, taskspace, repository, operation)
        return "was archived"
    await _settle(ground, replace(taskspace, standing=Standing.READY))
    return "was not deleted"


async def _end_land(
    ground: Ground, taskspace: Taskspace, repository: Repository, operation: Operation
) -> str:
    """Take back what landing has begun: the tree was clean before."""
    git = Git(Path(taskspace.worktree))
    await git.run("merge", "--abort")
    if "after" in operation.detail:
        await _take_back_move(ground, taskspace, repository, operation)
    await _settle(ground, taskspace)
    return "landing was interrupted: land again"


async def _take_back_move(
    ground: Ground, taskspace: Taskspace, repository: Repository, operation: Operation
) -> None:
    """Take back files that were brought to a commit which the branch has not reached."""
    before, after = operation.detail["before"], operation.detail["after"]
    git = Git(Path(taskspace.worktree))
    if await commit_of(git, "HEAD") != before:
        return
    lock = admin_directory(Path(taskspace.worktree), repository.common) / "index.lock"
    await asyncio.to_thread(_wait_until_gone, lock)
    await asyncio.to_thread(_remove_since, lock, operation.detail["at"])
    subject = subject_of(ground, taskspace, repository)
    await ground.snapshots.take(subject, "before an interrupted landing is taken back")
    await take_back(await git.completing(), before, after)


def _remove_since(lock: Path, moment: float) -> None:
    """Remove a lock on the index that a killed git has left since a moment."""
    with suppress(FileNotFoundError):
        if lock.stat().st_mtime >= moment - _TICK:
            lock.unlink()


async def _settle(ground: Ground, taskspace: Taskspace) -> None:
    def settle(connection: Connection) -> None:
        save(connection, taskspace)
        operations.end(connection, taskspace.id)

    await ground.journal.change(settle)
    ground.tell(Changed(taskspace))

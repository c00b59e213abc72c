"""After a start: ends what a kill has left half done, one way or the other."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from sqlite3 import Connection
from typing import Final

from symposium.taskspaces import log_book, operations
from symposium.taskspaces.creation import undo_creation
from symposium.taskspaces.deletion import removal, undo
from symposium.taskspaces.deletion.archive import read_archive, trash_of
from symposium.taskspaces.deletion.work_tree_checks import status_of
from symposium.taskspaces.events import Changed
from symposium.taskspaces.failures import TaskspaceError
from symposium.taskspaces.git.program import Git
from symposium.taskspaces.git.repository import Repository
from symposium.taskspaces.ground import Ground, file_of
from symposium.taskspaces.journal import load, save
from symposium.taskspaces.model import LogEntry, Standing, Taskspace
from symposium.taskspaces.operations import Kind, Operation, unfinished
from symposium.taskspaces.projects import open_project
from symposium.taskspaces.roster import check, take_in
from symposium.taskspaces.setting_up import INTERRUPTED
from symposium.taskspaces.snapshots.gitdir import admin_directory
from symposium.taskspaces.task_file import MOST_ENTRIES, write_task_file

BATCH: Final = 500
"""Taskspaces whose files are compared with the journal in one go."""

_PATIENCE = 10.0
"""Seconds that a git of before the kill may still be at work."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a start found and did about it, one line each, for people."""

    lines: tuple[str, ...] = ()


async def recover(ground: Ground) -> Recovered:
    """Bring everything to where it was, or say why not; what cannot be mended is left alone."""
    lines = await _end_all(ground)
    for project in sorted({each.project for each in await ground.everything()}):
        try:
            found = await take_in(ground, await open_project(Path(project)))
        except TaskspaceError as error:
            lines.append(f"{project}: {error.message}")
        else:
            lines += [f"{each.name}: found on the disk" for each in found]
    known = await check(ground, await ground.everything())
    for start in range(0, len(known), BATCH):
        lines += await _look_at(ground, known[start : start + BATCH])
    return Recovered(tuple(lines))


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
        except (TaskspaceError, OSError) as error:
            said = f"{operation.kind} could not be ended: {error}"
            await ground.put(replace(taskspace, reason=said))
        lines.append(f"{taskspace.name}: {said}")
    return lines


async def _look_at(ground: Ground, some: Sequence[Taskspace]) -> list[str]:
    """Write the files that say something else than the journal; what could not be done."""
    missing = [each for each in some if each.standing is Standing.MISSING]
    left_out = {Standing.MISSING, Standing.ARCHIVED}
    present = [each for each in some if each.standing not in left_out]

    def logs(connection: Connection) -> list[list[LogEntry]]:
        return [log_book.latest(connection, each.id, MOST_ENTRIES) for each in present]

    def write(found: list[list[LogEntry]]) -> list[str]:
        lines: list[str] = []
        for each, log in zip(present, found, strict=True):
            try:
                write_task_file(file_of(each), each, log)
            except OSError as error:
                lines.append(f"{each.name}: its file cannot be written: {error}")
        return lines

    async with ground.mirrors:
        lines = await asyncio.to_thread(write, await ground.journal.look(logs))
    return [*(f"{each.name}: {each.reason}" for each in missing), *lines]


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
            return await _end_land(ground, taskspace, repository)


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
    except TaskspaceError:
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


async def _end_land(ground: Ground, taskspace: Taskspace, repository: Repository) -> str:
    """Landing begins with a clean tree: what git has begun there is its own, and is taken back."""
    del repository
    git = Git(Path(taskspace.worktree))
    for kind in ("rebase", "merge"):
        await git.run(kind, "--abort")
    await _settle(ground, taskspace)
    return "landing was interrupted: land again"


async def _settle(ground: Ground, taskspace: Taskspace) -> None:
    def settle(connection: Connection) -> None:
        save(connection, taskspace)
        operations.end(connection, taskspace.id)

    await ground.journal.change(settle)
    ground.tell(Changed(taskspace))

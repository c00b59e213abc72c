"""Finishes or rolls back the operations of a killed engine, at the start."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from sqlite3 import Connection

from localio.git import GitRunError
from symposium.config.git import git_at
from symposium.tasks import tables
from symposium.tasks.branch_move import take_back
from symposium.tasks.creation import undo_creation
from symposium.tasks.deletion import removal
from symposium.tasks.deletion.archive import read_archive, trash_of
from symposium.tasks.deletion.restore_task import resume_undo
from symposium.tasks.engine_context import EngineContext, subject_of
from symposium.tasks.events import Changed
from symposium.tasks.model import Taskspace, TaskspaceError, TaskState
from symposium.tasks.projects import open_project
from symposium.tasks.repository import Repository, commit_of
from symposium.tasks.setup import INTERRUPTED
from symposium.tasks.snapshots.clone_state import admin_directory
from symposium.tasks.tables import Operation, OperationKind, load, save, unfinished
from symposium.tasks.worktree_status import status_of

_TICK = 0.1
"""Maximum delay of a file system's clock, in seconds."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """Results of a start, one line each, for the user."""

    lines: tuple[str, ...] = ()


async def recover(context: EngineContext) -> Recovered:
    """End every open operation of the journal, or report why not.

    An operation that cannot be ended stays unchanged. Other tasks are not checked: the duration of
    a start must not grow with the number of tasks. See `reconcile`.
    """
    return Recovered(tuple(await _end_all(context)))


async def _end_all(context: EngineContext) -> list[str]:
    lines: list[str] = []
    for operation in await context.journal.read(unfinished):
        taskspace = await context.journal.read(
            lambda connection, id_=operation.taskspace: load(connection, id_)
        )
        if taskspace is None:
            continue
        try:
            said = await _end(context, taskspace, operation)
        except (GitRunError, TaskspaceError, OSError) as error:
            said = f"{operation.kind} cannot be recovered: {error}"
            await context.put(replace(taskspace, reason=said))
        lines.append(f"{taskspace.name}: {said}")
        await _write_file(context, taskspace)
    return lines


async def _write_file(context: EngineContext, taskspace: Taskspace) -> None:
    """Write the file that the operation may not have written; `reconcile` reports failures."""
    with suppress(GitRunError, TaskspaceError, OSError):
        await context.mirror(taskspace.id)


async def _end(context: EngineContext, taskspace: Taskspace, operation: Operation) -> str:
    opened = await open_project(Path(taskspace.project))
    repository = opened.repository
    match operation.kind:
        case OperationKind.CREATE:
            return await _end_create(context, taskspace, repository, operation)
        case OperationKind.DELETE:
            return await _end_delete(context, taskspace, repository, operation)
        case OperationKind.UNDO:
            trash = trash_of(context.state, taskspace.id)
            if taskspace.standing is not TaskState.ARCHIVED:
                await context.journal.write(lambda link: tables.end(link, taskspace.id))
                return "was restored"
            manifest = await asyncio.to_thread(read_archive, trash)
            await resume_undo(context, taskspace, repository, operation, manifest)
            return "was restored"
        case OperationKind.LAND:
            return await _end_land(context, taskspace, repository, operation)


async def _end_create(
    context: EngineContext, taskspace: Taskspace, repository: Repository, operation: Operation
) -> str:
    is_made = operation.is_past("create.worktree")
    if not is_made and not await _holds_work(context, taskspace, repository):
        await undo_creation(context, taskspace, repository)
        return "its creation was rolled back"
    await _settle(context, replace(taskspace, standing=TaskState.SETUP_FAILED, reason=INTERRUPTED))
    return INTERRUPTED


async def _holds_work(context: EngineContext, taskspace: Taskspace, repository: Repository) -> bool:
    """Whether an incomplete worktree has anything but files that git was writing."""
    path = Path(taskspace.worktree)
    await _wait_for_git(context, repository, path)
    if not await asyncio.to_thread((path / ".git").exists):
        return False
    try:
        status = await status_of(git_at(path))
    except (GitRunError, TaskspaceError):
        return False
    return bool(status.untracked)


async def _wait_for_git(context: EngineContext, repository: Repository, path: Path) -> None:
    """Wait for a git that outlived the engine to release its lock on the index."""
    lock = admin_directory(path, repository.common) / "index.lock"
    await _wait_until_deleted(lock, context.git_timeout)


async def _wait_until_deleted(lock: Path, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while await asyncio.to_thread(lock.exists):  # noqa: ASYNC110 - another process deletes it
                await asyncio.sleep(_TICK)


async def _end_delete(
    context: EngineContext, taskspace: Taskspace, repository: Repository, operation: Operation
) -> str:
    if operation.is_past("delete.anchored"):
        await removal.resume_removal(context, taskspace, repository, operation)
        return "was archived"
    await _settle(context, replace(taskspace, standing=TaskState.READY))
    return "was not deleted"


async def _end_land(
    context: EngineContext, taskspace: Taskspace, repository: Repository, operation: Operation
) -> str:
    """Undo an interrupted landing: the worktree was clean before."""
    git = git_at(Path(taskspace.worktree))
    await git.run("merge", "--abort")
    if "after" in operation.detail:
        await _take_back_move(context, taskspace, repository, operation)
    await _settle(context, taskspace)
    return "landing was interrupted; land again"


async def _take_back_move(
    context: EngineContext, taskspace: Taskspace, repository: Repository, operation: Operation
) -> None:
    """Undo a change of files to a commit that the branch has not reached."""
    before, after = operation.detail["before"], operation.detail["after"]
    git = git_at(Path(taskspace.worktree))
    if await commit_of(git, "HEAD") != before:
        return
    lock = admin_directory(Path(taskspace.worktree), repository.common) / "index.lock"
    await _wait_until_deleted(lock, context.git_timeout)
    await asyncio.to_thread(_remove_since, lock, operation.detail["at"])
    subject = subject_of(context, taskspace, repository)
    await context.snapshots.take(subject, "before an interrupted landing is taken back")
    await take_back(await git.completing(), before, after)


def _remove_since(lock: Path, moment: float) -> None:
    """Remove a lock on the index that a killed git has left since a moment."""
    with suppress(FileNotFoundError):
        if lock.stat().st_mtime >= moment - _TICK:
            lock.unlink()


async def _settle(context: EngineContext, taskspace: Taskspace) -> None:
    def settle(connection: Connection) -> None:
        save(connection, taskspace)
        tables.end(connection, taskspace.id)

    await context.journal.write(settle)
    context.tell(Changed(taskspace))

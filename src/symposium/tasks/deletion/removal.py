"""Remove a task in stages: its archive is complete before anything is deleted."""

import asyncio
import shutil
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from sqlite3 import Connection

from symposium.tasks import tables
from symposium.tasks.creation import base_of
from symposium.tasks.deletion.archive import (
    Manifest,
    hold,
    ignored_work,
    read_archive,
    trash_of,
    write_archive,
    write_nothing,
)
from symposium.tasks.deletion.restore_task import purge
from symposium.tasks.engine_context import EngineContext, subject_of
from symposium.tasks.events import Removed, Removing, Said
from symposium.tasks.model import Taskspace, TaskspaceError, TaskState
from symposium.tasks.projects import open_project
from symposium.tasks.repository import Repository, worktrees
from symposium.tasks.setup import recipe_of
from symposium.tasks.setup_steps import run_commands
from symposium.tasks.tables import Operation, OperationKind, save
from symposium.tasks.task_environment import command_environment


class BranchAction(StrEnum):
    """Action for the branch; its commits are archived in any case."""

    AUTO = "auto"
    KEEP = "keep"
    DROP = "drop"


class ArchiveMode(StrEnum):
    """Parts of a deleted task that are kept."""

    ARCHIVE = "archive"
    NOTHING = "nothing"


async def remove(
    context: EngineContext,
    taskspace: Taskspace,
    repository: Repository,
    action: BranchAction,
    keeping: ArchiveMode = ArchiveMode.ARCHIVE,
) -> Taskspace:
    """Archive a task, then delete it; a failure before that leaves it unchanged.

    Raises:
        NotSafeError: a part of it cannot be archived.
        TaskspaceError: git cannot, or the archive cannot be written.
    """
    detail = {"fate": action.value, "keeping": keeping.value}
    operation = Operation(taskspace.id, OperationKind.DELETE, "delete.recorded", detail)

    def record(connection: Connection) -> None:
        save(connection, replace(taskspace, standing=TaskState.DELETING))
        tables.note(connection, operation)

    try:
        await context.journal.write(record)
        context.pass_stage(taskspace.id, "delete.recorded")
        context.tell(Removing(taskspace))
        operation = await _keep(context, taskspace, repository, operation)
    except BaseException:
        await context.shielded.after_failure(_as_before(context, taskspace))
        raise
    # From here on only the archive restores it: finish even if the caller is canceled.
    return await context.shielded.run_shielded(
        resume_removal(context, taskspace, repository, operation)
    )


async def _keep(
    context: EngineContext, taskspace: Taskspace, repository: Repository, operation: Operation
) -> Operation:
    await context.agents.stop(taskspace.id)
    operation = await context.complete_stage(operation, "delete.agent")
    subject = subject_of(context, taskspace, repository)
    if keeping_of(operation) is ArchiveMode.NOTHING:
        ref = f"refs/heads/{taskspace.branch}"
        tip = await repository.git.text_or_none("rev-parse", "--verify", "--quiet", ref)
        manifest = await write_nothing(subject, taskspace, tip or "", context.now())
    else:
        snapshot = await context.snapshots.take(subject, "before deletion")
        operation = await context.complete_stage(operation, "delete.snapshot")
        files = await ignored_work(taskspace) if await _is_there(taskspace) else []
        manifest = await write_archive(subject, taskspace, snapshot, files, context.now())
    operation = await context.complete_stage(operation, "delete.archive")
    await hold(subject, manifest)
    return await context.complete_stage(operation, "delete.anchored")


def keeping_of(operation: Operation) -> ArchiveMode:
    """Archive mode of a deletion in progress."""
    return ArchiveMode(operation.detail.get("keeping", ArchiveMode.ARCHIVE))


async def _is_there(taskspace: Taskspace) -> bool:
    return await asyncio.to_thread((Path(taskspace.worktree) / ".git").exists)


async def _as_before(context: EngineContext, taskspace: Taskspace) -> None:
    def undo(connection: Connection) -> None:
        save(connection, taskspace)
        tables.end(connection, taskspace.id)

    await context.journal.write(undo)
    context.snapshots.drop_memory(taskspace.id)


async def resume_removal(
    context: EngineContext, taskspace: Taskspace, repository: Repository, operation: Operation
) -> Taskspace:
    """Delete an archived task; continues a deletion that was killed.

    Raises:
        TaskspaceError: git cannot, or the archive is damaged.
    """
    manifest = await asyncio.to_thread(read_archive, trash_of(context.state, taskspace.id))
    if not operation.is_past("delete.teardown"):
        await _tear_down(context, taskspace, repository)
        operation = await context.complete_stage(operation, "delete.teardown")
    if not operation.is_past("delete.worktree"):
        async with context.clone_lock(repository.common):
            await _remove_worktree(taskspace, repository)
        operation = await context.complete_stage(operation, "delete.worktree")
    if not operation.is_past("delete.branch"):
        action = BranchAction(operation.detail["fate"])
        async with context.clone_lock(repository.common):
            await _branch(taskspace, repository, manifest, action)
        operation = await context.complete_stage(operation, "delete.branch")
    # A file that is being written would create the folder again.
    async with context.files.lock:
        await _remove_home(taskspace)
    await context.complete_stage(operation, "delete.metadata")
    if keeping_of(operation) is ArchiveMode.NOTHING:
        gone = replace(taskspace, standing=TaskState.ARCHIVED, archived_at=context.stamp())
        await purge(context, gone, repository)
        context.pass_stage(taskspace.id, "delete.done")
        return gone
    return await _done(context, taskspace)


async def _done(context: EngineContext, taskspace: Taskspace) -> Taskspace:
    archived = replace(
        taskspace, standing=TaskState.ARCHIVED, archived_at=context.stamp(), ports=None
    )

    def finish(connection: Connection) -> None:
        save(connection, archived)
        tables.release(connection, taskspace.id)
        tables.end(connection, taskspace.id)

    await context.journal.write(finish)
    context.snapshots.drop_memory(taskspace.id)
    context.tell(Removed(taskspace.id, is_archived=True))
    context.pass_stage(taskspace.id, "delete.done")
    return archived


async def _tear_down(context: EngineContext, taskspace: Taskspace, repository: Repository) -> None:
    """Run the recipe's teardown where it is trusted; it cannot stop the removal."""
    if not await _is_there(taskspace):
        return
    recipe = await asyncio.to_thread(recipe_of, taskspace, repository)
    commands = recipe.all_of("teardown")
    if not commands:
        return
    lines = [f"{kind}: {line}" for each in recipe.recipes for kind, line in each.lines()]
    if not await context.trust.allows(taskspace.project, recipe.digest, lines):
        return
    environment = context.agents.environment(taskspace)
    env = {**command_environment(taskspace, repository.root, environment), **recipe.env}

    def say(line: str) -> None:
        context.tell(Said(taskspace.id, line))

    try:
        failure = await run_commands(commands, Path(taskspace.worktree), env, say)
    except OSError as error:
        say(f"teardown failed: {error}")
    else:
        if failure is not None:
            say(f"teardown failed: {failure.text}")


async def _remove_worktree(taskspace: Taskspace, repository: Repository) -> None:
    """Files first, then git's record of them: a kill in between is detected and recovered."""
    git, path = repository.git, Path(taskspace.worktree)
    listed = next((each for each in await worktrees(git) if each.path == path), None)
    if listed is None and not await _is_there(taskspace):
        await asyncio.to_thread(_remove_empty, path)
        return
    if path == repository.root:
        raise TaskspaceError(f"{path} is the clone's own checkout", "it is never removed")
    aside = path.with_name(f".{path.name}.removing")
    await asyncio.to_thread(_remove_files, path, aside)
    if listed is not None:
        # Twice: it is locked.
        await git.ask("worktree", "remove", "--force", "--force", "--", str(path))


def _remove_empty(path: Path) -> None:
    """Remove the folder that the snapshot of a missing worktree has made."""
    with suppress(OSError):
        path.rmdir()


def _remove_files(path: Path, aside: Path) -> None:
    try:
        _clear(aside)
        if path.exists():
            # Renamed first: a program that still writes here creates no new files.
            path.rename(aside)
        _clear(aside)
    except OSError as error:
        raise TaskspaceError(f"{error.filename} cannot be removed: {error.strerror}", "") from error


def _clear(directory: Path) -> None:
    if directory.is_symlink():
        directory.unlink()
    elif directory.exists():
        for inner in [directory, *directory.rglob("*")]:
            if inner.is_dir() and not inner.is_symlink():
                inner.chmod(0o700)
        shutil.rmtree(directory)


async def _branch(
    taskspace: Taskspace, repository: Repository, manifest: Manifest, action: BranchAction
) -> None:
    """Drop the branch if requested or merged elsewhere; keep a branch in use."""
    git, ref = repository.git, f"refs/heads/{taskspace.branch}"
    tip = await git.text_or_none("rev-parse", "--verify", "--quiet", ref)
    if tip is None or not taskspace.branch or action is BranchAction.KEEP:
        return
    if any(each.branch == ref for each in await worktrees(git)):
        return
    # Drop a name only if the archive's own refs have its commit.
    held = (
        manifest.tip and not (await git.run("merge-base", "--is-ancestor", tip, manifest.tip)).code
    )
    if not held or (
        action is BranchAction.AUTO and not await _is_elsewhere(taskspace, repository, tip)
    ):
        return
    await git.ask("update-ref", "-d", ref, tip)
    await git.config("--remove-section", f"branch.{taskspace.branch}")


async def _is_elsewhere(taskspace: Taskspace, repository: Repository, tip: str) -> bool:
    base = base_of(taskspace)
    words = ["rev-list", "--count", tip, "--not", "--remotes", *([base.ref] if base else [])]
    return await repository.git.text_or_none(*words) == "0"


async def _remove_home(taskspace: Taskspace) -> None:
    opened = await open_project(Path(taskspace.project))
    home = opened.project.places(taskspace.id, "").home
    await asyncio.to_thread(shutil.rmtree, home, ignore_errors=True)

"""Restore archived tasks, and remove expired archives."""

import asyncio
import os
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path
from sqlite3 import Connection

from symposium.tasks import tables
from symposium.tasks.creation import USUAL_PORTS, lock_reason
from symposium.tasks.deletion.archive import (
    ARCHIVE_DAYS,
    Manifest,
    branch_ref,
    read_archive,
    snapshot_ref,
    store_git,
    store_of,
    trash_of,
    unbundle,
    unpack_files,
)
from symposium.tasks.engine_context import EngineContext, subject_of
from symposium.tasks.events import Changed, Removed
from symposium.tasks.model import Taskspace, TaskspaceError, TaskState
from symposium.tasks.repository import Repository, add_worktree, commit_of, worktrees
from symposium.tasks.snapshots.clone_objects import give_back
from symposium.tasks.snapshots.snapshot_values import Snapshot, SnapshotTarget, snapshot_of
from symposium.tasks.tables import Operation, OperationKind, forget, save


async def undo_removal(
    context: EngineContext, taskspace: Taskspace, repository: Repository
) -> tuple[Taskspace, tuple[str, ...]]:
    """Restore an archived task: tree, index, branch, stash, ignored files, and log.

    Returns:
        The task, and notes on parts that could not be restored completely.

    Raises:
        TaskspaceError: it is not archived, its archive is damaged, or its place is taken.
    """
    if taskspace.standing is not TaskState.ARCHIVED:
        raise TaskspaceError(f"{taskspace.name!r} is not archived", "there is nothing to undo")
    manifest = await asyncio.to_thread(read_archive, trash_of(context.state, taskspace.id))
    path = Path(taskspace.worktree)
    if await asyncio.to_thread(os.path.lexists, path):
        raise TaskspaceError(f"{path} already exists", "move it away")
    work = _undo(context, taskspace, repository, manifest)
    return await context.shielded.run_shielded(work)


async def _undo(
    context: EngineContext, taskspace: Taskspace, repository: Repository, manifest: Manifest
) -> tuple[Taskspace, tuple[str, ...]]:
    operation = Operation(taskspace.id, OperationKind.UNDO, "undo.recorded", {})
    await context.journal.write(lambda connection: tables.note(connection, operation))
    context.pass_stage(taskspace.id, "undo.recorded")
    return await resume_undo(context, taskspace, repository, operation, manifest)


async def resume_undo(
    context: EngineContext,
    taskspace: Taskspace,
    repository: Repository,
    operation: Operation,
    manifest: Manifest,
) -> tuple[Taskspace, tuple[str, ...]]:
    """Restore in repeatable stages, so that a restart begins with the first.

    Raises:
        TaskspaceError: git cannot, or files cannot be written.
    """
    subject = subject_of(context, taskspace, repository)
    await unbundle(subject, trash_of(context.state, taskspace.id), manifest)
    snapshot = await _snapshot(subject)
    await _give_back(context, subject, snapshot, manifest)
    async with context.clone_lock(repository.common):
        await _add_worktree(taskspace, repository, snapshot, manifest)
    operation = await context.complete_stage(operation, "undo.worktree")
    async with context.clone_lock(repository.common):
        restored = await context.snapshots.restore(subject, snapshot)
    try:
        trash = trash_of(context.state, taskspace.id)
        await asyncio.to_thread(unpack_files, trash, subject.worktree)
    except (OSError, tarfile.TarError) as error:
        raise TaskspaceError(f"ignored files cannot be restored: {error}", "") from error
    operation = await context.complete_stage(operation, "undo.restored")
    back = await _record(context, taskspace, manifest)
    await context.mirror(back.id)
    context.pass_stage(back.id, "undo.metadata")
    await _drop(context, subject)
    await context.journal.write(lambda connection: tables.end(connection, back.id))
    context.tell(Changed(back))
    context.pass_stage(back.id, "undo.done")
    return back, restored.notes


async def _snapshot(subject: SnapshotTarget) -> Snapshot:
    git, ref = await store_git(subject), snapshot_ref(subject.id)
    commit = await git.text("rev-parse", "--verify", ref)
    message = await git.text("log", "-1", "--format=%B", commit)
    found = snapshot_of(ref, commit, message)
    if found is None:
        raise TaskspaceError(f"{ref} is no snapshot", "see the bundle in the archive")
    return found


async def _give_back(
    context: EngineContext, subject: SnapshotTarget, snapshot: Snapshot, manifest: Manifest
) -> None:
    """Let the clone reference the commits again: git may drop them without a branch."""
    store = await store_of(subject)
    wanted = {snapshot.tip, manifest.tip, manifest.taskspace.base_commit or ""} - {""}
    try:
        async with context.clone_lock(subject.common):
            await give_back(store, wanted, set(), snapshot.at)
    except OSError as error:
        raise TaskspaceError(f"{subject.common} cannot be written: {error}", "") from error


async def _add_worktree(
    taskspace: Taskspace, repository: Repository, snapshot: Snapshot, manifest: Manifest
) -> None:
    """A worktree without files; the restored snapshot sets its HEAD and branch."""
    git, path = repository.git, Path(taskspace.worktree)
    if any(each.path == path for each in await worktrees(git)):
        return
    start = snapshot.tip or manifest.taskspace.base_commit
    await add_worktree(
        git,
        path,
        *("--force", "--no-checkout", "--detach", "--lock", "--reason", lock_reason(taskspace.id)),
        *("--", str(path), start),
    )
    branch = snapshot.head or f"refs/heads/{taskspace.branch}"
    if manifest.tip and await commit_of(git, branch) is None:
        await git.ask("update-ref", branch, manifest.tip)


async def _record(context: EngineContext, taskspace: Taskspace, manifest: Manifest) -> Taskspace:
    before = manifest.taskspace
    count = before.ports.count if before.ports else USUAL_PORTS

    def record(connection: Connection) -> Taskspace:
        ports = tables.claim(connection, taskspace.id, count, context.is_port_free)
        back = replace(before, ports=ports, spawned=taskspace.spawned)
        save(connection, back)
        return back

    return await context.journal.write(record)


async def _drop(context: EngineContext, subject: SnapshotTarget) -> None:
    git = await store_git(subject)
    for ref in (snapshot_ref(subject.id), branch_ref(subject.id)):
        await git.run("update-ref", "-d", ref)
    trash = trash_of(context.state, subject.id)
    await asyncio.to_thread(shutil.rmtree, trash, ignore_errors=True)


async def purge(
    context: EngineContext, taskspace: Taskspace, repository: Repository | None
) -> None:
    """Delete an archived task for good.

    Raises:
        TaskspaceError: it is not archived.
    """
    if taskspace.standing is not TaskState.ARCHIVED:
        raise TaskspaceError(f"{taskspace.name!r} is not archived", "delete it first")
    if repository is not None:
        subject = subject_of(context, taskspace, repository)
        await _drop(context, subject)
        await context.snapshots.forget(subject)
    shadow = context.state / "shadow" / taskspace.id
    await asyncio.to_thread(shutil.rmtree, shadow, ignore_errors=True)
    trash = trash_of(context.state, taskspace.id)
    await asyncio.to_thread(shutil.rmtree, trash, ignore_errors=True)
    await context.journal.write(lambda connection: forget(connection, taskspace.id))
    context.tell(Removed(taskspace.id, is_archived=False))


def is_old(context: EngineContext, manifest_at: float) -> bool:
    """Whether an archive has expired."""
    return manifest_at < context.now() - ARCHIVE_DAYS * 86400

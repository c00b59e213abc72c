"""Brings archived taskspaces back, and lets go of those that are too old."""

import asyncio
import os
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path
from sqlite3 import Connection

from symposium.taskspaces import operations, port_blocks
from symposium.taskspaces.creation import USUAL_PORTS, lock_reason
from symposium.taskspaces.deletion.archive import (
    DAYS,
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
from symposium.taskspaces.events import Changed, Removed
from symposium.taskspaces.failures import TaskspaceError
from symposium.taskspaces.git.repository import Repository, add_worktree, commit_of, worktrees
from symposium.taskspaces.ground import Ground
from symposium.taskspaces.journal import forget, save
from symposium.taskspaces.model import Standing, Taskspace
from symposium.taskspaces.operations import Kind, Operation
from symposium.taskspaces.snapshots.clone_objects import give_back
from symposium.taskspaces.snapshots.state import Snapshot, snapshot_of
from symposium.taskspaces.snapshots.subject import Subject
from symposium.taskspaces.subjects import subject_of


async def undo_removal(
    ground: Ground, taskspace: Taskspace, repository: Repository
) -> tuple[Taskspace, tuple[str, ...]]:
    """Bring an archived taskspace back: tree, index, branch, stash, ignored files and log.

    Returns:
        The taskspace, and notes on what could not be brought back as it was.

    Raises:
        TaskspaceError: it is not archived, its archive is damaged, or its place is taken.
    """
    if taskspace.standing is not Standing.ARCHIVED:
        raise TaskspaceError(f"{taskspace.name!r} is not archived", "there is nothing to undo")
    manifest = await asyncio.to_thread(read_archive, trash_of(ground.state, taskspace.id))
    path = Path(taskspace.worktree)
    if await asyncio.to_thread(os.path.lexists, path):
        raise TaskspaceError(f"{path} is there already", "move it away")
    work = _undo(ground, taskspace, repository, manifest)
    return await ground.undertakings.to_its_end(work)


async def _undo(
    ground: Ground, taskspace: Taskspace, repository: Repository, manifest: Manifest
) -> tuple[Taskspace, tuple[str, ...]]:
    operation = Operation(taskspace.id, Kind.UNDO, "undo.recorded", {})
    await ground.journal.change(lambda connection: operations.note(connection, operation))
    ground.pass_stage(taskspace.id, "undo.recorded")
    return await go_on_undoing(ground, taskspace, repository, operation, manifest)


async def go_on_undoing(
    ground: Ground,
    taskspace: Taskspace,
    repository: Repository,
    operation: Operation,
    manifest: Manifest,
) -> tuple[Taskspace, tuple[str, ...]]:
    """Every stage of it can be done again, so a restart begins with the first.

    Raises:
        TaskspaceError: git cannot, or files cannot be written.
    """
    subject = subject_of(ground, taskspace, repository)
    await unbundle(subject, trash_of(ground.state, taskspace.id), manifest)
    snapshot = await _snapshot(subject)
    await _give_back(ground, subject, snapshot, manifest)
    async with ground.clone_turn(repository.common):
        await _add_worktree(taskspace, repository, snapshot, manifest)
    operation = await ground.reach(operation, "undo.worktree")
    async with ground.clone_turn(repository.common):
        restored = await ground.snapshots.restore(subject, snapshot)
    try:
        trash = trash_of(ground.state, taskspace.id)
        await asyncio.to_thread(unpack_files, trash, subject.worktree)
    except (OSError, tarfile.TarError) as error:
        raise TaskspaceError(f"ignored files cannot be brought back: {error}", "") from error
    operation = await ground.reach(operation, "undo.restored")
    back = await _record(ground, taskspace, manifest)
    await ground.mirror(back.id)
    ground.pass_stage(back.id, "undo.metadata")
    await _drop(ground, subject)
    await ground.journal.change(lambda connection: operations.end(connection, back.id))
    ground.tell(Changed(back))
    ground.pass_stage(back.id, "undo.done")
    return back, restored.notes


async def _snapshot(subject: Subject) -> Snapshot:
    git, ref = await store_git(subject), snapshot_ref(subject.id)
    commit = await git.text("rev-parse", "--verify", ref)
    message = await git.text("log", "-1", "--format=%B", commit)
    found = snapshot_of(ref, commit, message)
    if found is None:
        raise TaskspaceError(f"{ref} is no snapshot", "see the bundle in the archive")
    return found


async def _give_back(
    ground: Ground, subject: Subject, snapshot: Snapshot, manifest: Manifest
) -> None:
    """Have the clone hold the commits again: once a branch is gone, git may drop them."""
    store = await store_of(subject)
    wanted = {snapshot.tip, manifest.tip, manifest.taskspace.base_commit or ""} - {""}
    try:
        async with ground.clone_turn(subject.common):
            await give_back(store, wanted, set(), snapshot.at)
    except OSError as error:
        raise TaskspaceError(f"{subject.common} cannot be written: {error}", "") from error


async def _add_worktree(
    taskspace: Taskspace, repository: Repository, snapshot: Snapshot, manifest: Manifest
) -> None:
    """A worktree without files; what is restored decides about its HEAD and its branch."""
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


async def _record(ground: Ground, taskspace: Taskspace, manifest: Manifest) -> Taskspace:
    before = manifest.taskspace
    count = before.ports.count if before.ports else USUAL_PORTS

    def record(connection: Connection) -> Taskspace:
        ports = port_blocks.claim(connection, taskspace.id, count, ground.is_port_free)
        back = replace(before, ports=ports, spawned=taskspace.spawned)
        save(connection, back)
        return back

    return await ground.journal.change(record)


async def _drop(ground: Ground, subject: Subject) -> None:
    git = await store_git(subject)
    for ref in (snapshot_ref(subject.id), branch_ref(subject.id)):
        await git.run("update-ref", "-d", ref)
    trash = trash_of(ground.state, subject.id)
    await asyncio.to_thread(shutil.rmtree, trash, ignore_errors=True)


async def purge(ground: Ground, taskspace: Taskspace, repository: Repository | None) -> None:
    """Let go of an archived taskspace for good.

    Raises:
        TaskspaceError: it is not archived.
    """
    if taskspace.standing is not Standing.ARCHIVED:
        raise TaskspaceError(f"{taskspace.name!r} is not archived", "delete it first")
    if repository is not None:
        subject = subject_of(ground, taskspace, repository)
        await _drop(ground, subject)
        await ground.snapshots.forget(subject)
    shadow = ground.state / "shadow" / taskspace.id
    await asyncio.to_thread(shutil.rmtree, shadow, ignore_errors=True)
    trash = trash_of(ground.state, taskspace.id)
    await asyncio.to_thread(shutil.rmtree, trash, ignore_errors=True)
    await ground.journal.change(lambda connection: forget(connection, taskspace.id))
    ground.tell(Removed(taskspace.id, is_archived=False))


def is_old(ground: Ground, manifest_at: float) -> bool:
    """Whether an archive has been kept long enough."""
    return manifest_at < ground.now() - DAYS * 86400

"""Archive a task outside of its worktree: a bundle, a patch, its ignored files, a manifest.

Two refs in the store name the same commits; the bundle is a copy in case the store loses them.
"""

import asyncio
import os
import shutil
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import file_digest
from pathlib import Path
from typing import Final

import msgspec

from localio.files import make_private_directory, sync_path, write_whole
from localio.git import Git
from symposium.config.git import git_at
from symposium.tasks.deletion.worktree_checks import (
    all_of,
    kept_ignored,
    of_repository,
    repositories_in,
)
from symposium.tasks.model import NotSafeError, Taskspace, TaskspaceError
from symposium.tasks.snapshots.restore import move_in
from symposium.tasks.snapshots.snapshot_values import Snapshot, SnapshotTarget
from symposium.tasks.snapshots.store import Store, existing, open_store
from symposium.tasks.worktree_status import status_of

REFS: Final = "refs/symposium/trash"
ARCHIVE_DAYS: Final = 14
"""Days for which the archive of a deleted task is kept."""

MAX_IGNORED: Final = 1 << 30
"""Maximum bytes of archived ignored files."""

MAX_PATCHED: Final = 64 << 20
"""Maximum bytes of changed files for a patch; the bundle has them in any case."""

_MANIFEST: Final = "manifest.json"
_BUNDLE: Final = "work.bundle"
_PATCH: Final = "changes.patch"
_FILES: Final = "files.tar"


@dataclass(frozen=True, slots=True)
class Manifest:
    """Content of an archive.

    Attributes:
        snapshot: the ref of the archived snapshot; empty for a deletion without archive.
        sums: SHA-256 of each of its files.
        notes: omitted parts, with reasons.
    """

    taskspace: Taskspace
    snapshot: str
    commit: str
    tip: str
    at: float
    sums: dict[str, str]
    notes: tuple[str, ...] = ()


def trash_of(state: Path, id_: str) -> Path:
    """The directory of a taskspace's archive."""
    return state / "trash" / id_


def snapshot_ref(id_: str) -> str:
    """The ref of the store that keeps an archived taskspace's last snapshot."""
    return f"{REFS}/{id_}/snapshot"


def branch_ref(id_: str) -> str:
    """The ref of the store that keeps an archived taskspace's branch."""
    return f"{REFS}/{id_}/branch"


async def ignored_work(taskspace: Taskspace) -> list[str]:
    """Ignored files that no build recreates, and ignored repositories with their own work.

    Raises:
        TaskspaceError: that cannot be said.
    """
    worktree = Path(taskspace.worktree)
    ignored = (await status_of(git_at(worktree))).ignored
    folders = [name.rstrip("/") for name in ignored if name.endswith("/")]
    try:
        files = await asyncio.to_thread(lambda: list(kept_ignored(worktree, ignored)))
        for name in await asyncio.to_thread(repositories_in, worktree, folders):
            if await of_repository(worktree / name, name):
                files += await asyncio.to_thread(all_of, worktree, name)
    except OSError as error:
        raise NotSafeError(str(error), "move away what you do not need") from error
    return list(dict.fromkeys(files))


async def write_archive(
    subject: SnapshotTarget,
    taskspace: Taskspace,
    snapshot: Snapshot,
    files: Sequence[str],
    at: float,
) -> Manifest:
    """Write the archive; it is on the disk on return.

    Raises:
        NotSafeError: the ignored files are too many to be kept.
        TaskspaceError: it cannot be written.
    """
    trash = subject.shadow.parent.parent / "trash" / taskspace.id
    partial = trash.with_name(f"{trash.name}.partial")
    try:
        await asyncio.to_thread(_fresh, partial)
        git = await store_git(subject)
        before = snapshot.tip or (await git.ask("mktree")).text
        size = await _changed_bytes(git, before, snapshot.work)
        await _bundle(subject, taskspace, snapshot, partial / _BUNDLE, size)
        notes = (f"no {_PATCH}: {size} bytes have changed; {_BUNDLE} has them",)
        if size <= MAX_PATCHED:
            notes = await _patch(git, before, snapshot.work, partial / _PATCH)
        await asyncio.to_thread(_tar, subject.worktree, files, partial / _FILES)
        sums = await asyncio.to_thread(_sums, partial)
        details = (snapshot.ref, snapshot.commit, snapshot.tip, at, sums, notes)
        manifest = Manifest(taskspace, *details)
        await asyncio.to_thread(_finish, partial, trash, manifest)
    except (OSError, tarfile.TarError) as error:
        raise TaskspaceError(f"the archive cannot be written: {error}", "make room") from error
    return manifest


async def write_nothing(
    subject: SnapshotTarget, taskspace: Taskspace, tip: str, at: float
) -> Manifest:
    """Record only the name of the task, so that an interrupted deletion can be finished.

    Raises:
        TaskspaceError: it cannot be written.
    """
    trash = subject.shadow.parent.parent / "trash" / taskspace.id
    partial = trash.with_name(f"{trash.name}.partial")
    manifest = Manifest(taskspace, "", "", tip, at, {}, ("nothing was to be kept",))
    try:
        await asyncio.to_thread(_fresh, partial)
        await asyncio.to_thread(_finish, partial, trash, manifest)
    except OSError as error:
        raise TaskspaceError(f"{trash} cannot be written: {error}", "make room") from error
    return manifest


async def store_of(subject: SnapshotTarget) -> Store:
    """The store that has the snapshots of a subject.

    Raises:
        TaskspaceError: it cannot be read.
    """
    try:
        store = await open_store(subject.store, subject.common)
        await move_in(store, subject.id)
    except OSError as error:
        raise TaskspaceError(f"{subject.store} cannot be read: {error}", "") from error
    return store


async def store_git(subject: SnapshotTarget) -> Git:
    """Git in the store that has the snapshots of a subject.

    Raises:
        TaskspaceError: the store cannot be read.
    """
    return (await store_of(subject)).git()


async def hold(subject: SnapshotTarget, manifest: Manifest) -> None:
    """Have the store keep the commits of an archive.

    Raises:
        TaskspaceError: git cannot.
    """
    store = await store_of(subject)
    git = store.git()
    if manifest.commit:
        await git.ask("update-ref", snapshot_ref(subject.id), manifest.commit)
    if manifest.tip and manifest.tip not in await store.bring_in([manifest.tip]):
        await git.ask("update-ref", branch_ref(subject.id), manifest.tip)


async def _bundle(
    subject: SnapshotTarget, taskspace: Taskspace, snapshot: Snapshot, target: Path, size: int
) -> None:
    """All commits that no other branch has.

    Fast compression: large files are rarely text, and a user waits.
    """
    packing = ("pack.compression=0", "core.bigFileThreshold=16m") if size > MAX_PATCHED else ()
    store = await store_git(subject)
    git = replace(store, settings=packing)
    listed = await subject.clone().run(
        "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/remotes"
    )
    ours = f"refs/heads/{taskspace.branch}"
    lines = [line.partition(" ") for line in listed.text.splitlines()]
    others = {id_ for id_, _, name in lines if name != ours} | {taskspace.base_commit or ""}
    known = sorted(await existing(git, others - {""}))
    await git.ask(
        *("bundle", "create", "--quiet", str(target), snapshot.ref),
        *(["--not", *known] if known else []),
        timeout=600.0,
    )


async def _patch(git: Git, before: str, after: str, target: Path) -> tuple[str, ...]:
    """A patch of uncommitted changes, for the user; returns no notes."""
    await git.ask(
        *("diff", "--binary", "--no-ext-diff", "--no-textconv", "--no-color"),
        *(f"--output={target}", before, after),
    )
    return ()


async def _changed_bytes(git: Git, before: str, after: str) -> int:
    """Size of the changed files, before and after."""
    words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after)
    changes = [entry.split(" ") for entry in (await git.ask(*words)).names if entry[:1] == ":"]
    blobs = [id_ for change in changes if "160000" not in change[1] for id_ in change[2:4]]
    asked = "".join(f"{id_}\n" for id_ in blobs).encode()
    sizes = (await git.ask("cat-file", "--batch-check=%(objectsize)", stdin=asked)).text
    return sum(int(size) for size in sizes.splitlines() if size.isdigit())


def _fresh(partial: Path) -> None:
    shutil.rmtree(partial, ignore_errors=True)
    make_private_directory(partial, is_synced=True)


def _tar(worktree: Path, files: Sequence[str], target: Path) -> None:
    size = sum((worktree / name).lstat().st_size for name in files)
    if size > MAX_IGNORED:
        reason = (
            f"the ignored files of {worktree} have {size} bytes; at most {MAX_IGNORED} are kept"
        )
        raise NotSafeError(reason, "move away what you do not need")
    with tarfile.open(target, "w") as archive:
        for name in files:
            archive.add(worktree / name, arcname=name, recursive=False)


def _sums(directory: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(directory.iterdir()):
        with path.open("rb") as file:
            found[path.name] = file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
    return found


def _finish(partial: Path, trash: Path, manifest: Manifest) -> None:
    text = msgspec.json.format(msgspec.json.encode(manifest)).decode()
    write_whole(partial / _MANIFEST, text + "\n")
    shutil.rmtree(trash, ignore_errors=True)
    partial.rename(trash)
    sync_path(trash.parent)


def read_archive(trash: Path) -> Manifest:
    """Read and verify an archive.

    Raises:
        TaskspaceError: it does not exist, or was changed.
    """
    try:
        text = (trash / _MANIFEST).read_bytes()
        manifest = msgspec.json.decode(text, type=Manifest)
        sums = {name: each for name, each in _sums(trash).items() if name != _MANIFEST}
    except (OSError, msgspec.MsgspecError) as error:
        raise TaskspaceError(f"the archive {trash} cannot be read: {error}", "") from error
    if sums != manifest.sums:
        changed = [name for name in manifest.sums if sums.get(name) != manifest.sums[name]]
        reason = f"the archive {trash} is damaged: {', '.join(changed) or 'a file was added'}"
        raise TaskspaceError(
            reason, "its commits may still be in the store of the clone's snapshots"
        )
    return manifest


async def unbundle(subject: SnapshotTarget, trash: Path, manifest: Manifest) -> None:
    """Restore the commits of an archive if the store has lost them.

    Raises:
        TaskspaceError: the bundle needs commits that the store has lost too.
    """
    store = await store_of(subject)
    git = store.git()
    if not (await git.run("cat-file", "-e", f"{manifest.commit}^{{tree}}")).code:
        await hold(subject, manifest)
        return
    needed = await asyncio.to_thread(_needed, trash / _BUNDLE)
    store.complete.clear()
    await store.bring_in(needed)
    refspec = f"+{manifest.snapshot}:{snapshot_ref(subject.id)}"
    words = ("fetch", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance")
    await replace(git, protocols="file").ask(*words, str(trash / _BUNDLE), refspec)
    await hold(subject, manifest)


def _needed(bundle: Path) -> list[str]:
    """The commits that a bundle builds on (gitformat-bundle(5))."""
    found: list[str] = []
    with bundle.open("rb") as file:
        for line in file:
            if line == b"\n":
                break
            if line.startswith(b"-"):
                found.append(line[1:].split(b" ")[0].strip().decode())
    return found


def unpack_files(trash: Path, worktree: Path) -> None:
    """Restore the ignored files; existing files stay.

    Raises:
        OSError, tarfile.TarError: they cannot be written.
    """
    with tarfile.open(trash / _FILES) as archive:
        for member in archive.getmembers():
            target = worktree / member.name
            if member.isdir():
                target.mkdir(parents=True, exist_ok=True)
            if os.path.lexists(target):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            if member.issym():
                target.symlink_to(member.linkname)
            elif (content := archive.extractfile(member)) is not None:
                with target.open("xb") as file:
                    shutil.copyfileobj(content, file)
                target.chmod(member.mode & 0o777)

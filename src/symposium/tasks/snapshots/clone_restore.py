"""Restore the state of a worktree in its clone: refs, HEAD, index, stash, open operations."""

import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localio.files import make_private_directory, write_whole
from symposium.tasks.snapshots.clone_state import (
    HEADS,
    LINK,
    STASH,
    Refs,
    admin_directory,
    elsewhere,
    is_head,
    logged,
    packed_refs,
    private_files,
    upstream_of,
)
from symposium.tasks.snapshots.objects import FOLDER
from symposium.tasks.snapshots.snapshot_values import Details, Snapshot, SnapshotTarget
from symposium.tasks.snapshots.store import Store

_REPLACED: Final = "refs/replace/"
_ORIGINAL: Final = "refs/original/"
_FETCHED: Final = "refs/remotes/"
_SHOWN: Final = 5
_LOGS: Final = "logs/"
_FOLDERS: Final = ("objects/info", "objects/pack", "refs/heads", "refs/tags")


@dataclass(frozen=True, slots=True)
class RestoreTarget:
    """State to restore.

    Attributes:
        refs: all refs of the clone; only branches from an old snapshot.
        clone: content of files in the clone's git directory, by path.
    """

    snapshot: Snapshot
    details: Details
    refs: Mapping[str, str]
    clone: Mapping[str, bytes]


def repair_clone(common: Path, clone: Mapping[str, bytes]) -> list[str]:
    """Repair a clone until git can read it; keep the readable parts.

    Raises:
        OSError: a file cannot be written.
    """
    notes: list[str] = []
    for folder in _FOLDERS:
        (common / folder).mkdir(parents=True, exist_ok=True)
    head = _text(common / "HEAD")
    for name, is_whole in (("HEAD", is_head(head)), ("config", (common / "config").is_file())):
        if not is_whole and name in clone:
            write_whole(common / name, clone[name])
            notes.append(f"{common / name} was damaged; restored")
    excluded = clone.get("info/exclude")
    if excluded is not None and _bytes(common / "info/exclude") != excluded:
        write_whole(common / "info/exclude", excluded)
    if "shallow" not in clone and "HEAD" in clone and (common / "shallow").exists():
        (common / "shallow").unlink()
        notes.append(f"{common / 'shallow'} was created later and cut the history; removed")
    packed = _bytes(common / "packed-refs")
    lines = packed.splitlines(keepends=True)
    readable = {
        f"{id_} {name}\n".encode(errors="surrogateescape") for name, id_ in packed_refs(packed)
    }
    kept = [line for line in lines if line[:1] in {b"#", b"^"} or line in readable]
    if kept != lines:
        write_whole(common / "packed-refs", b"".join(kept))
        notes.append(f"{common / 'packed-refs'} was damaged; removed its invalid lines")
    return notes


def _text(path: Path) -> str:
    return _bytes(path).decode(errors="replace")


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


async def restore_refs(subject: SnapshotTarget, target: RestoreTarget) -> list[str]:
    """Restore branches, tags, and other refs; return notes on refs that are not the task's.

    A ref that is missing comes back. One that was moved is moved back, unless another worktree has
    it checked out, or it is what was fetched. One that was made since is removed if this worktree
    was on it; else it is left and named.

    Raises:
        TaskspaceError: git cannot be run.
    """
    admin = admin_directory(subject.worktree, subject.common)
    now = await Refs(subject.common).read()
    others = elsewhere(subject.common, admin)
    own = target.snapshot.head
    blocking = await _unblock(subject, target, now)
    back: list[str] = []
    moved: list[str] = []
    notes: list[str] = []
    for name, value in target.refs.items():
        if now.get(name) == value or name == STASH:
            continue
        if name in now and (name in others or name.startswith(_FETCHED)) and name != own:
            continue
        if failed := await _set(subject, name, value):
            notes.append(f"{name} could not be restored to {value}: {failed}")
            continue
        if name != own:
            (moved if name in now else back).append(name)
    notes += _shortened(
        blocking,
        "was created later, in the way of another ref; removed",
        "were created later, in the way of other refs; removed",
    )
    notes += _shortened(back, "was missing; restored", "were missing; restored")
    notes += _shortened(moved, "was moved; restored", "were moved; restored")
    now = {name: value for name, value in now.items() if name not in blocking}
    if target.details.is_whole:
        notes += await _extra(subject, target, now, others)
    return notes


async def _unblock(
    subject: SnapshotTarget, target: RestoreTarget, now: Mapping[str, str]
) -> list[str]:
    """Remove new refs whose names conflict with a restored one."""
    missing = [name for name in target.refs if name not in now]
    blocking = [
        name
        for name in now
        if name not in target.refs
        and any(name.startswith(f"{each}/") or each.startswith(f"{name}/") for each in missing)
    ]
    for name in blocking:
        await subject.clone().run("update-ref", "--no-deref", "-d", name)
    return blocking


async def _set(subject: SnapshotTarget, name: str, value: str) -> str:
    """Set a ref; return the error, or an empty text."""
    path, git = subject.common / name, subject.clone()
    if path.is_dir() and not path.is_symlink():
        with suppress(OSError):
            path.rmdir()
    (subject.common / f"{name}.lock").unlink(missing_ok=True)
    if value.startswith(LINK):
        done = await git.run("symbolic-ref", name, value.removeprefix(LINK))
    else:
        words = ("update-ref", "--no-deref", "-m", "symposium: undo", name, value)
        done = await git.run(*words)
    return done.said if done.code else ""


async def _extra(
    subject: SnapshotTarget, target: RestoreTarget, now: Mapping[str, str], others: Iterable[str]
) -> list[str]:
    admin = admin_directory(subject.worktree, subject.common)
    new = [
        name
        for name in now
        if name not in target.refs and name not in others and not name.startswith((_FETCHED, STASH))
    ]
    head = _text(admin / "HEAD").strip().removeprefix("ref:").strip()
    gone: list[str] = []
    left: list[str] = []
    for name in new:
        # Remove the backup of `git filter-branch` with its branch.
        branch = name.removeprefix(_ORIGINAL)
        is_own = branch.startswith(HEADS) and (
            branch in {head, target.snapshot.head} or _was_on(admin, branch)
        )
        # A replacement ref changes the visible history, so remove it.
        if is_own or name.startswith(_REPLACED):
            done = await subject.clone().run("update-ref", "--no-deref", "-d", name)
            (left if done.code else gone).append(name)
        else:
            left.append(name)
    return [
        *_shortened(gone, "was created later; removed", "were created later; removed"),
        *_shortened(left, "was created later; kept", "were created later; kept"),
    ]


def _was_on(admin: Path, name: str) -> bool:
    """Whether the worktree had a branch checked out, by its reflog."""
    short = name.removeprefix(HEADS)
    log = _text(admin / "logs" / "HEAD")
    lines = (line.partition("\t")[2] for line in log.splitlines())
    return any(
        (line.startswith("checkout: ") and line.endswith(f" to {short}"))
        or line.endswith(f" to {name}")
        for line in lines
    )


def _shortened(names: list[str], one: str, many: str) -> list[str]:
    if len(names) > _SHOWN:
        return [f"{', '.join(names[:_SHOWN])}, and {len(names) - _SHOWN} more {many}"]
    return [f"{name} {one}" for name in names]


async def restore_private(subject: SnapshotTarget, store: Store, snapshot: Snapshot) -> None:
    """Restore HEAD, the index, and operations in progress of the worktree.

    Raises:
        TaskspaceError: an object is missing.
        OSError: a file cannot be written.
    """
    admin = admin_directory(subject.worktree, subject.common)
    _tie(subject, admin)
    for lock in ("index.lock", "HEAD.lock"):
        (admin / lock).unlink(missing_ok=True)
    tree = (await store.commit_entries(snapshot.commit)).get("private")
    if tree is None:
        return
    wanted = await files_in(store, tree[1])
    # Restore before removing the rest, so that the clone always has a HEAD.
    contents = await store.read(wanted.values())
    for name, id_ in wanted.items():
        _write_below(admin, name, contents[id_])
    for name in list(private_files(admin)):
        if name not in wanted:
            (admin / name).unlink(missing_ok=True)
    for folder in ("rebase-merge", "rebase-apply", "sequencer"):
        if not any(name.startswith(f"{folder}/") for name in wanted):
            shutil.rmtree(admin / folder, ignore_errors=True)


async def files_in(store: Store, tree: str) -> dict[str, str]:
    """The files of a small tree, by path."""
    found: dict[str, str] = {}
    waiting = [("", tree)]
    while waiting:
        start, id_ = waiting.pop()
        for name, (mode, inner) in (await store.tree(id_)).items():
            if mode == FOLDER:
                waiting.append((f"{start}{name}/", inner))
            else:
                found[start + name] = inner
    return found


def _write_below(folder: Path, name: str, data: bytes) -> None:
    """Write a file without following links, which an agent may have created."""
    for above in [*Path(name).parents][-2::-1]:
        place = folder / above
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            place.unlink()
        place.mkdir(exist_ok=True)
    path = folder / name
    if path.is_symlink():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    if _bytes(path) == data and path.exists():
        return
    temporary = path.with_name(f".symposium-{os.urandom(6).hex()}")
    temporary.write_bytes(data)
    temporary.replace(path)


def _tie(subject: SnapshotTarget, admin: Path) -> None:
    """Restore both links between the worktree and its clone."""
    worktree = subject.worktree
    if admin == subject.common:
        return
    admin.mkdir(parents=True, exist_ok=True)
    back = f"{worktree / '.git'}\n".encode(errors="surrogateescape")
    _write_below(admin, "commondir", b"../..\n")
    _write_below(admin, "gitdir", back)
    link = worktree / ".git"
    text = f"gitdir: {admin}\n".encode(errors="surrogateescape")
    if link.is_dir() and not link.is_symlink():
        # An agent created a repository here; move it instead of deleting it.
        aside = subject.displaced(f"git-{os.urandom(4).hex()}")
        make_private_directory(aside.parent, is_synced=True)
        shutil.move(link, aside)
    _write_below(worktree, ".git", text)


async def restore_logs(subject: SnapshotTarget, target: RestoreTarget) -> None:
    """Restore the branch's reflog if it was cut.

    Raises:
        OSError: a file cannot be written.
    """
    for name, data in target.clone.items():
        if name.startswith(_LOGS) and not _bytes(subject.common / name).startswith(data):
            _write_below(subject.common, name, data)


async def restore_stash(subject: SnapshotTarget, details: Details) -> list[str]:
    """Restore the stash, which is its reflog; rewrite all entries if one is missing.

    Raises:
        TaskspaceError: git cannot be run.
    """
    git, now = subject.clone(), logged(subject.common)
    present = {entry.commit for entry in now}
    top = (await Refs(subject.common).read()).get(STASH)
    is_named = not now or top == now[-1].commit
    if is_named and all(entry.commit in present for entry in details.stash):
        return []
    kept = {entry.commit for entry in details.stash}
    await git.run("update-ref", "-d", STASH)
    notes: list[str] = []
    for entry in (*details.stash, *(each for each in now if each.commit not in kept)):
        done = await git.run("stash", "store", "-m", entry.message, entry.commit)
        if done.code:
            notes.append(f"a stash could not be restored: {entry.commit}: {done.said}")
    return notes


async def restore_upstream(subject: SnapshotTarget, target: RestoreTarget) -> None:
    """Restore the upstream of a branch, which git removes with the branch.

    Raises:
        TaskspaceError: git cannot be run.
    """
    git, name = subject.clone(), target.snapshot.head.removeprefix(HEADS)
    present = upstream_of(subject.common, target.snapshot.head)
    for key, value in target.details.upstream.items():
        if key not in present and name and (await git.config("--get", f"branch.{name}.{key}")).code:
            await git.config(f"branch.{name}.{key}", value)

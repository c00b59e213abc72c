"""Brings a worktree back to a snapshot: its files, then what the clone has of it."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from symposium.taskspaces.failures import TaskspaceError
from symposium.taskspaces.snapshots.capture import Memory
from symposium.taskspaces.snapshots.clone_objects import give_back
from symposium.taskspaces.snapshots.clone_restore import (
    Target,
    files_in,
    repair_clone,
    restore_logs,
    restore_private,
    restore_refs,
    restore_stash,
    restore_upstream,
)
from symposium.taskspaces.snapshots.earlier import files_of_earlier, modules_of_earlier
from symposium.taskspaces.snapshots.file_restore import relink, restore_files
from symposium.taskspaces.snapshots.gitdir import admin_directory, submodule_directory
from symposium.taskspaces.snapshots.mirror import Mirror, decode
from symposium.taskspaces.snapshots.state import Snapshot, decode_details
from symposium.taskspaces.snapshots.store import Store, existing
from symposium.taskspaces.snapshots.subject import Subject

_SHOWN: Final = 5
_FETCHED: Final = "refs/remotes/"


@dataclass(frozen=True, slots=True)
class Restored:
    """What was brought back.

    Attributes:
        before: the snapshot of what was there; undoes this.
        notes: what could not be brought back as it was, and why.
    """

    snapshot: Snapshot
    before: Snapshot
    notes: tuple[str, ...]


async def bring_back(
    subject: Subject, memory: Memory, snapshot: Snapshot, current: Snapshot
) -> list[str]:
    """Make the worktree what it was; the memory must know what it is now.

    Returns:
        Notes on what could not be brought back.

    Raises:
        TaskspaceError: an object is missing, or git cannot; what was written stays.
        OSError: the disk cannot.
    """
    store = memory.store
    target = await _target(store, snapshot)
    entries = await store.commit_entries(snapshot.commit)
    aside = subject.displaced(current.ref.rpartition("/")[2])
    notes = _shortened([f"was not kept: {reason}" for reason in target.details.skipped])
    notes += await asyncio.to_thread(repair_clone, subject.common, target.clone)
    tree = entries["files"][1] if "files" in entries else None
    if tree is None:
        tree = await files_of_earlier(store, snapshot, target.details)
    notes += await restore_files(store, memory.files.mirror, tree, aside)
    notes += await asyncio.to_thread(relink, subject.worktree, target.details.links)
    notes += await _objects(store, target)
    notes += await restore_refs(subject, target)
    await restore_upstream(subject, target)
    await restore_private(subject, store, snapshot)
    await restore_logs(subject, target)
    notes += await _modules(subject, memory, target, aside)
    notes += await restore_stash(subject, target.details)
    return notes


async def _target(store: Store, snapshot: Snapshot) -> Target:
    entries = await store.commit_entries(snapshot.commit)
    if "details.json" not in entries:
        raise TaskspaceError(f"{snapshot.ref} is damaged: {snapshot.commit} cannot be read", "")
    wanted = [entries[name][1] for name in ("details.json", "refs.json") if name in entries]
    found = await store.read(wanted)
    details = decode_details(found[entries["details.json"][1]])
    refs = dict(details.branches)
    if "refs.json" in entries:
        read = msgspec.json.decode(found[entries["refs.json"][1]], type=dict[str, str])
        refs = {
            name.encode("latin-1").decode(errors="surrogateescape"): id_
            for name, id_ in read.items()
        }
    clone: dict[str, bytes] = {}
    if "clone" in entries:
        files = await files_in(store, entries["clone"][1])
        contents = await store.read(files.values())
        clone = {name: contents[id_] for name, id_ in files.items()}
    return Target(snapshot, details, refs, clone)


def _shortened(notes: list[str]) -> list[str]:
    if len(notes) <= _SHOWN:
        return notes
    return [*notes[:_SHOWN], f"was not kept: {len(notes) - _SHOWN} more"]


async def _objects(store: Store, target: Target) -> list[str]:
    """Give the clone what refs, stash, and index name."""
    values = {id_ for id_ in target.refs.values() if not id_.startswith("ref:")}
    fetched = {id_ for name, id_ in target.refs.items() if name.startswith(_FETCHED)}
    wanted = values | {each.commit for each in target.details.stash}
    wanted |= {target.snapshot.tip} - {""}
    entries = await store.commit_entries(target.snapshot.commit)
    if "staged" in entries and not await _has_blobs(store, entries["staged"][1], target):
        wanted.add(entries["staged"][1])
    if "private" in entries:
        wanted |= await _named(store, entries["private"][1])
    return await give_back(store, wanted, fetched, target.snapshot.at)


async def _has_blobs(store: Store, staged: str, target: Target) -> bool:
    """Whether the clone has every file that is staged: git needs no tree of an index."""
    clone = store.git().told({"GIT_OBJECT_DIRECTORY": str(store.common / "objects")})
    if staged in await existing(clone, [staged]):
        return True
    base = (
        target.snapshot.tip if target.snapshot.tip in store.complete else store.objects.put_tree([])
    )
    words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", base, staged)
    changes = [
        entry.split(" ") for entry in (await store.git().ask(*words)).names if entry[:1] == ":"
    ]
    blobs = {words[3] for words in changes if words[1] != "160000" and words[3].strip("0")}
    return not blobs or blobs == set(await existing(clone, blobs))


async def _named(store: Store, private: str) -> set[str]:
    """The objects that a half-done operation names."""
    files = await files_in(store, private)
    small = {
        name: id_
        for name, id_ in files.items()
        if name != "index" and not name.startswith(("logs/", "sharedindex."))
    }
    contents = await store.read(small.values())
    words = {word for data in contents.values() for word in data.split()}
    return {
        word.decode()
        for word in words
        if len(word) == 2 * store.id_size and word.isalnum() and word.decode() in store.complete
    }


async def _modules(subject: Subject, memory: Memory, target: Target, aside: Path) -> list[str]:
    """Bring the histories of submodules back, and have the submodules find them."""
    store, admin = memory.store, admin_directory(subject.worktree, subject.common)
    place = admin / "modules"
    entries = await store.commit_entries(target.snapshot.commit)
    tree = entries["modules"][1] if "modules" in entries else None
    if tree is None and not target.details.is_whole:
        tree = await modules_of_earlier(store, target.snapshot, target.details)
    notes: list[str] = []
    if tree is not None and admin != subject.common:
        known = memory.modules.mirror if memory.modules is not None else None
        if place.is_symlink():
            # It would lead to another place.
            place.unlink()
        mirror = known if known is not None and known.root == place else _empty(place)
        notes = await restore_files(store, mirror, tree, aside / "modules")
    for nested in target.details.nested:
        if nested.link is None:
            continue
        module = submodule_directory(subject.worktree, subject.common, nested.link)
        link = subject.worktree / nested.path / ".git"
        if module is not None and link.is_file() and not link.is_symlink():
            wanted = _link_to(nested.link, module, link.parent)
            if link.read_text(encoding="utf-8", errors="surrogateescape") != wanted:
                link.write_text(wanted, encoding="utf-8", errors="surrogateescape")
    return notes


def _link_to(link: str, module: Path, folder: Path) -> str:
    """A worktree that comes back may be known to the clone by another name."""
    said = Path(link.strip().removeprefix("gitdir:").strip())
    there = said if said.is_absolute() else folder / said
    if there.resolve() == module.resolve():
        return link
    return f"gitdir: {module}\n"


def _empty(root: Path) -> Mirror:
    return decode(root, b"")

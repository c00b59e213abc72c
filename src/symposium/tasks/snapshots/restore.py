"""Restore a worktree from a snapshot, also from one of an earlier version.

Snapshots of earlier versions are moved into the store at the first use of a worktree. A restore
translates their trees.
"""

import asyncio
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from symposium.config.git import OWN_REFS, git_of
from symposium.tasks.model import TaskspaceError
from symposium.tasks.snapshots.capture import CaptureMemory
from symposium.tasks.snapshots.clone_objects import clone_git, give_back
from symposium.tasks.snapshots.clone_restore import (
    RestoreTarget,
    files_in,
    repair_clone,
    restore_logs,
    restore_private,
    restore_refs,
    restore_stash,
    restore_upstream,
)
from symposium.tasks.snapshots.clone_state import admin_directory, submodule_directory
from symposium.tasks.snapshots.file_metadata import (
    USUAL_FILE,
    USUAL_FOLDER,
    USUAL_PROGRAM,
    File,
    Folder,
    Mirror,
    decode,
)
from symposium.tasks.snapshots.file_restore import relink, restore_files
from symposium.tasks.snapshots.objects import COMMIT, LINK, PROGRAM
from symposium.tasks.snapshots.snapshot_values import (
    Details,
    Snapshot,
    SnapshotTarget,
    decode_details,
)
from symposium.tasks.snapshots.store import COPY_TIMEOUT, Store, existing

SNAPSHOTS: Final = "refs/symposium/snap"
TRASH: Final = "refs/symposium/trash"
HIDDEN: Final = "uploadpack.hideRefs"


async def move_in(store: Store, id_: str) -> None:
    """Move the snapshots of a worktree from the clone into the store.

    A ref is deleted in the clone after its objects are in the store.

    Raises:
        TaskspaceError: git cannot be run.
        OSError: the store cannot be written.
    """
    if not _has_any(store.common):
        return
    git = git_of(store.common)
    places = f"{SNAPSHOTS}/{id_}", f"{TRASH}/{id_}"
    listed = await git.run("for-each-ref", "--format=%(objectname) %(refname)", *places)
    lines = (line.partition(" ") for line in listed.text.splitlines())
    refs = {name: commit for commit, _, name in lines}
    lost = set(await store.bring_in(refs.values()))
    moved = {name: commit for name, commit in refs.items() if commit not in lost}
    for name, commit in moved.items():
        store.set_ref(name, commit)
    commands = "".join(f"delete {name} {commit}\n" for name, commit in moved.items())
    if moved:
        await git.ask("update-ref", "--no-deref", "--stdin", stdin=commands.encode())
    if not (await git.run("for-each-ref", "--count=1", OWN_REFS)).out:
        await git.config("--unset", HIDDEN, f"^{OWN_REFS}$")


def _has_any(common: Path) -> bool:
    """Whether the clone has refs of Symposium, or a setting for them."""
    if (common / "refs" / "symposium").is_dir():
        return True
    for name in ("packed-refs", "config"):
        try:
            if OWN_REFS.encode() in (common / name).read_bytes():
                return True
        except OSError:
            continue
    return False


async def files_of_earlier(store: Store, snapshot: Snapshot, details: Details) -> str:
    """Translate an old snapshot into a tree of all files in the current format.

    Raises:
        TaskspaceError: an object is missing.
    """
    mirror = Mirror(Path("/"), Folder("", None, stat.S_IFDIR | USUAL_FOLDER))
    await _fill(store, mirror.top, f"{snapshot.commit}:work")
    for number, nested in enumerate(details.nested):
        inside = _folder(mirror.top, nested.path)
        await _fill(store, inside, f"{snapshot.commit}:nested-{number}")
        if nested.link is not None:
            link = nested.link.encode(errors="surrogateescape")
            _file(inside, ".git", store.objects.put("blob", link), USUAL_FILE | stat.S_IFREG)
        elif nested.gitdir:
            git = _folder(inside, ".git")
            await _fill(store, git, nested.gitdir)
            for name in ("refs/heads", "refs/tags", "objects/info", "objects/pack"):
                _folder(git, name)
    for name in details.empty:
        _folder(mirror.top, name)
    _give_modes(mirror.top, details)
    return mirror.build(store.objects, lambda _: None)


async def modules_of_earlier(store: Store, snapshot: Snapshot, details: Details) -> str | None:
    """Tree of the submodules' git directories in an old snapshot; None without submodules."""
    top = Folder("", None, stat.S_IFDIR | USUAL_FOLDER)
    mirror = Mirror(Path("/"), top)
    found = False
    for number, nested in enumerate(details.nested):
        name = (nested.link or "").strip().partition("/modules/")[2]
        if nested.gitdir and name and ".." not in name.split("/"):
            found = True
            inside = _folder(top, name)
            await _fill(store, inside, f"{snapshot.commit}:nested-{number}-git")
            for each in ("refs/heads", "refs/tags", "objects/info", "objects/pack"):
                _folder(inside, each)
    return mirror.build(store.objects, lambda _: None) if found else None


async def _fill(store: Store, folder: Folder, tree: str) -> None:
    listed = await store.git().ask("ls-tree", "-r", "-z", tree, timeout=COPY_TIMEOUT)
    for entry in listed.names:
        facts, _, name = entry.partition("\t")
        mode, _, id_ = facts.split(" ")
        if mode == COMMIT:
            _folder(folder, name)
            continue
        where, _, last = name.rpartition("/")
        kind = stat.S_IFLNK if mode == LINK else stat.S_IFREG
        permissions = USUAL_PROGRAM if mode == PROGRAM else USUAL_FILE
        _file(_folder(folder, where), last, id_, kind | permissions)


def _folder(top: Folder, path: str) -> Folder:
    here = top
    for name in path.split("/") if path else ():
        found = here.entries.get(name)
        if not isinstance(found, Folder):
            found = Folder(name, here, stat.S_IFDIR | USUAL_FOLDER)
            here.entries[name] = found
        here = found
    return here


def _file(folder: Folder, name: str, id_: str, mode: int) -> None:
    file = File(mode, 0)
    file.id = bytes.fromhex(id_)
    folder.entries[name] = file


def _give_modes(top: Folder, details: Details) -> None:
    """Set permissions from an old snapshot: the usual ones, and those that differ."""
    for folder in top.below():
        path = folder.path
        start = f"{path}/" if path else ""
        if path:
            mode = details.modes.get(path, details.usual.get("folder", USUAL_FOLDER))
            folder.mode = stat.S_IFDIR | mode
        for name, each in folder.entries.items():
            if isinstance(each, File) and stat.S_ISREG(each.mode):
                kind = "program" if each.mode & stat.S_IXUSR else "plain"
                usual = details.usual.get(kind, stat.S_IMODE(each.mode))
                each.mode = stat.S_IFREG | details.modes.get(start + name, usual)


_SHOWN: Final = 5
_FETCHED: Final = "refs/remotes/"


@dataclass(frozen=True, slots=True)
class RestoredSnapshot:
    """Result of a restore.

    Attributes:
        before: snapshot of the state before; restoring it reverses this undo.
        notes: parts that could not be restored completely, with reasons.
    """

    snapshot: Snapshot
    before: Snapshot
    notes: tuple[str, ...]


async def restore_worktree(
    subject: SnapshotTarget, memory: CaptureMemory, snapshot: Snapshot, current: Snapshot
) -> list[str]:
    """Restore the worktree; the memory must contain its current state.

    Returns:
        Notes on files that could not be restored.

    Raises:
        TaskspaceError: an object is missing, or git fails; restored files stay.
        OSError: a file cannot be written.
    """
    store = memory.store
    target = await _target(store, snapshot)
    entries = await store.commit_entries(snapshot.commit)
    aside = subject.displaced(current.ref.rpartition("/")[2])
    notes = _shortened([f"not in the snapshot: {reason}" for reason in target.details.skipped])
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


async def _target(store: Store, snapshot: Snapshot) -> RestoreTarget:
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
    return RestoreTarget(snapshot, details, refs, clone)


def _shortened(notes: list[str]) -> list[str]:
    if len(notes) <= _SHOWN:
        return notes
    return [*notes[:_SHOWN], f"not in the snapshot: {len(notes) - _SHOWN} more"]


async def _objects(store: Store, target: RestoreTarget) -> list[str]:
    """Restore the clone's objects for refs, stash, and index."""
    values = {id_ for id_ in target.refs.values() if not id_.startswith("ref:")}
    fetched = {id_ for name, id_ in target.refs.items() if name.startswith(_FETCHED)}
    wanted = values | {each.commit for each in target.details.stash}
    wanted |= {target.snapshot.tip} - {""}
    entries = await store.commit_entries(target.snapshot.commit)
    if "private" in entries:
        wanted |= await _named(store, entries["private"][1])
    staged = {entries["staged"][1]} if "staged" in entries else set[str]()
    # Use one git process for all objects, because starting git is slow.
    found = await existing(clone_git(store), wanted | staged)
    for tree in staged - wanted - set(found):
        if not await _has_blobs(store, tree, target):
            wanted.add(tree)
    return await give_back(store, wanted, fetched, target.snapshot.at, found)


async def _has_blobs(store: Store, staged: str, target: RestoreTarget) -> bool:
    """Whether the clone has the blobs of all staged files; git does not need their tree."""
    base = (
        target.snapshot.tip if target.snapshot.tip in store.complete else store.objects.put_tree([])
    )
    words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", base, staged)
    changes = [
        entry.split(" ") for entry in (await store.git().ask(*words)).names if entry[:1] == ":"
    ]
    blobs = {words[3] for words in changes if words[1] != "160000" and words[3].strip("0")}
    return blobs == set(await existing(clone_git(store), blobs))


async def _named(store: Store, private: str) -> set[str]:
    """Objects that an operation in progress names, such as a merge."""
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


async def _modules(
    subject: SnapshotTarget, memory: CaptureMemory, target: RestoreTarget, aside: Path
) -> list[str]:
    """Restore the git directories of submodules, and their `.git` files."""
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
            # A restore through the link would write to another directory.
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
    """Content of a `.git` file; a new path if the clone's directory was renamed."""
    said = Path(link.strip().removeprefix("gitdir:").strip())
    there = said if said.is_absolute() else folder / said
    if there.resolve() == module.resolve():
        return link
    return f"gitdir: {module}\n"


def _empty(root: Path) -> Mirror:
    return decode(root, b"")

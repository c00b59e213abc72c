"""Snapshots of earlier versions: refs in the clone, trees that git had made.

They are moved into the store when a worktree is first looked at. Their trees are translated when
one is restored.
"""

import stat
from pathlib import Path
from typing import Final

from symposium.git.program import Git
from symposium.taskspaces.snapshots.mirror import (
    USUAL_FILE,
    USUAL_FOLDER,
    USUAL_PROGRAM,
    File,
    Folder,
    Mirror,
)
from symposium.taskspaces.snapshots.objects import COMMIT, LINK, PROGRAM
from symposium.taskspaces.snapshots.state import Details, Snapshot
from symposium.taskspaces.snapshots.store import LONG, Store

SNAPSHOTS: Final = "refs/symposium/snap"
TRASH: Final = "refs/symposium/trash"
HIDDEN: Final = "uploadpack.hideRefs"

_ALL: Final = "refs/symposium/"


async def move_in(store: Store, id_: str) -> None:
    """Move the snapshots of a worktree from the clone into the store.

    A ref leaves the clone once the store has all that it names.

    Raises:
        TaskspaceError: git cannot be run.
        OSError: the store cannot be written.
    """
    if not _has_any(store.common):
        return
    git = Git(store.common, {"GIT_DIR": str(store.common)})
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
    if not (await git.run("for-each-ref", "--count=1", _ALL)).out:
        await git.config("--unset", HIDDEN, f"^{_ALL}$")


def _has_any(common: Path) -> bool:
    """Whether the clone has refs of Symposium's, or a setting for them."""
    if (common / "refs" / "symposium").is_dir():
        return True
    for name in ("packed-refs", "config"):
        try:
            if _ALL.encode() in (common / name).read_bytes():
                return True
        except OSError:
            continue
    return False


async def files_of_earlier(store: Store, snapshot: Snapshot, details: Details) -> str:
    """The tree of all files of an old snapshot, as new ones have it.

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
    """The tree of the histories of submodules of an old snapshot; None where there were none."""
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
    listed = await store.git().ask("ls-tree", "-r", "-z", tree, patience=LONG)
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
    """Old snapshots say what most files have, and which differ."""
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

"""Metadata of all files below a folder, and the git trees that store them.

The tree of a snapshot's `files` is no checkout: each name has the prefix `+`, so that `.git` is a
name like any other, and the entry `-` of a folder stores metadata that git does not keep of it and
of its files (permissions, pipes, extended attributes), where that differs from the usual.
"""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Final

import msgspec

from symposium.tasks.snapshots.objects import (
    BLOB,
    COMMIT,
    FOLDER,
    LINK,
    PROGRAM,
    Objects,
    TreeEntry,
)

META: Final = b"-"
"""Name of a folder's entry for files that git does not store."""

USUAL_FILE: Final = 0o644
USUAL_PROGRAM: Final = 0o755
USUAL_FOLDER: Final = 0o755

_CACHE_VERSION: Final = 2


class File:
    """A file, a symbolic link, or a pipe.

    Attributes:
        mode: its `st_mode`.
        id: id of its blob; empty if it is not saved.
        stamp: changes with each change that the file system knows of; 0 if it cannot be trusted.
    """

    __slots__ = ("id", "is_ignored", "mode", "size", "stamp")

    def __init__(self, mode: int, size: int, *, is_ignored: bool = False) -> None:
        self.mode = mode
        self.id = b""
        self.size = size
        self.stamp = 0
        self.is_ignored = is_ignored


class Folder:
    """A folder and its content.

    Attributes:
        tree: tree of all saved files; None if unknown.
        work: tree of files that git does not ignore; None without such files.
        is_kept: whether it is looked into.
        inner: the folders in it, while `tree` is known; looking for them in `entries` takes long.
        digest: of its names and their states, when all of them were as here; 0 if unknown.
        xattrs: extended attributes, by name; those of the folder itself under an empty one.
    """

    __slots__ = (
        "digest",
        "entries",
        "inner",
        "is_ignored",
        "is_kept",
        "mode",
        "name",
        "parent",
        "tree",
        "work",
        "xattrs",
    )

    def __init__(self, name: str, parent: "Folder | None", mode: int) -> None:
        self.name = name
        self.parent = parent
        self.mode = mode
        self.entries: dict[str, File | Folder] = {}
        self.tree: str | None = None
        self.work: str | None = None
        self.is_ignored = False
        self.is_kept = True
        self.inner: tuple[Folder, ...] = ()
        self.digest = 0
        self.xattrs: dict[str, dict[str, bytes]] | None = None

    @property
    def path(self) -> str:
        """Path below the root; empty for the root."""
        names: list[str] = []
        here = self
        while here.parent is not None:
            names.append(here.name)
            here = here.parent
        return "/".join(reversed(names))

    @property
    def is_repository(self) -> bool:
        """Whether it is one inside another."""
        return self.parent is not None and ".git" in self.entries

    def changed(self) -> None:
        """Have its trees found out again, and those of the folders that it is in."""
        self.digest = 0
        here: Folder = self
        while here.tree is not None:
            here.tree = here.work = None
            here = here.parent or here

    def folders(self) -> "list[Folder]":
        """The folders in it."""
        return [each for each in self.entries.values() if isinstance(each, Folder)]

    def kept_folders(self) -> "list[Folder]":
        """The folders in it that are looked into."""
        inner = self.inner if self.tree is not None else self.folders()
        return [each for each in inner if each.is_kept]

    def below(self) -> "Iterator[Folder]":
        """It, and every folder in it; each before those in it."""
        waiting: list[Folder] = [self]
        while waiting:
            here = waiting.pop()
            yield here
            waiting += here.inner if here.tree is not None else here.folders()

    def at(self, path: str) -> "Folder | None":
        """The folder of a path below it."""
        here = self
        for name in path.split("/") if path else ():
            found = here.entries.get(name)
            if not isinstance(found, Folder):
                return None
            here = found
        return here


class Meta(msgspec.Struct, omit_defaults=True, frozen=True):
    """Metadata of a folder that git does not store; names as in `encode_name`.

    Attributes:
        mode: of the folder.
        modes: of the files that have other permissions than 0644 or 0755.
        pipes: modes of named pipes.
        xattrs: by name, of the folder itself under an empty one.
    """

    mode: int = USUAL_FOLDER
    modes: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    pipes: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    xattrs: dict[str, dict[str, bytes]] = msgspec.field(default_factory=dict[str, dict[str, bytes]])


def encode_name(name: str) -> str:
    """Encode a name of any bytes for JSON."""
    return os.fsencode(name).decode("latin-1")


def decode_name(text: str) -> str:
    """The name that was encoded."""
    return os.fsdecode(text.encode("latin-1"))


@dataclass(slots=True)
class Mirror:
    """The files below one folder as they were when last looked at.

    Attributes:
        linked: device and inode of the files that have more than one name.
        unkept: reason why a path is not saved.
        deleted: files that git did not ignore; an undo creates them again.
    """

    root: Path
    top: Folder
    linked: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    unkept: dict[str, str] = field(default_factory=dict[str, str])
    deleted: set[str] = field(default_factory=set[str])
    is_seen: bool = False

    def build(self, objects: Objects, commit_of: Callable[[str], str | None]) -> str:
        """Write the trees that have changed; the id of the uppermost.

        Args:
            objects: where they are written.
            commit_of: the commit of a repository inside, by its path.

        Raises:
            OSError: the disk cannot.
        """
        order = [self.top] if self.top.tree is None else []
        for folder in order:
            order += [each for each in folder.folders() if each.tree is None and each.is_kept]
        for folder in reversed(order):
            _build(folder, objects, commit_of)
        assert self.top.tree is not None
        return self.top.tree

    def links(self) -> list[list[str]]:
        """The names of each file that has several here."""
        found: dict[tuple[int, int], list[str]] = {}
        for path, inode in self.linked.items():
            found.setdefault(inode, []).append(path)
        return sorted(sorted(paths) for paths in found.values() if len(paths) > 1)


def _build(folder: Folder, objects: Objects, commit_of: Callable[[str], str | None]) -> None:
    everything: list[TreeEntry] = []
    work: list[TreeEntry] = []
    for name, each in folder.entries.items():
        raw = os.fsencode(name)
        if isinstance(each, File):
            if each.id:
                entry = TreeEntry(_entry(each), b"+" + raw, each.id.hex())
                everything.append(entry)
                if not each.is_ignored and name != ".git":
                    work.append(TreeEntry(entry.mode, raw, entry.id))
        elif each.is_kept and each.tree is not None:
            everything.append(TreeEntry(FOLDER, b"+" + raw, each.tree))
            work += _work_entry(each, raw, commit_of)
    meta = _meta(folder)
    if meta != Meta():
        everything.append(TreeEntry(BLOB, META, objects.put("blob", msgspec.json.encode(meta))))
    folder.inner = tuple(folder.folders())
    folder.tree = objects.put_tree(everything)
    folder.work = objects.put_tree(work) if work and not folder.is_ignored else None


def _work_entry(
    folder: Folder, raw: bytes, commit_of: Callable[[str], str | None]
) -> list[TreeEntry]:
    """A folder as git sees it: a repository inside is a commit."""
    if folder.is_repository and not folder.is_ignored:
        commit = commit_of(folder.path)
        return [TreeEntry(COMMIT, raw, commit)] if commit else []
    is_seen = folder.work is not None and folder.name != ".git"
    return [TreeEntry(FOLDER, raw, folder.work or "")] if is_seen else []


def _meta(folder: Folder) -> Meta:
    modes: dict[str, int] = {}
    pipes: dict[str, int] = {}
    for name in sorted(folder.entries):
        each = folder.entries[name]
        if not isinstance(each, File):
            continue
        mode = stat.S_IMODE(each.mode)
        if stat.S_ISFIFO(each.mode):
            pipes[encode_name(name)] = mode
        elif stat.S_ISREG(each.mode) and each.id:
            usual = USUAL_PROGRAM if each.mode & stat.S_IXUSR else USUAL_FILE
            if mode != usual:
                modes[encode_name(name)] = mode
    xattrs = {encode_name(name): found for name, found in sorted((folder.xattrs or {}).items())}
    return Meta(stat.S_IMODE(folder.mode), modes, pipes, xattrs)


def _entry(file: File) -> str:
    if stat.S_ISLNK(file.mode):
        return LINK
    return PROGRAM if file.mode & stat.S_IXUSR else BLOB


_Row = tuple[
    str, int, bool, bool, list[tuple[str, int, bytes, int, int, bool]], dict[str, dict[str, bytes]]
]
_Cache = tuple[int, list[_Row], dict[str, str]]


def encode(mirror: Mirror) -> bytes:
    """Serialize the mirror for the next start: a hint that each file's stamp confirms."""
    rows: list[_Row] = []
    for folder in mirror.top.below():
        files = [
            (encode_name(name), each.mode, each.id, each.size, each.stamp, each.is_ignored)
            for name, each in folder.entries.items()
            if isinstance(each, File)
        ]
        xattrs = {encode_name(name): each for name, each in (folder.xattrs or {}).items()}
        path = encode_name(folder.path)
        rows.append((path, folder.mode, folder.is_ignored, folder.is_kept, files, xattrs))
    # Equal states give equal bytes, in any order of reading.
    rows.sort(key=itemgetter(0))
    unkept = {encode_name(path): why for path, why in sorted(mirror.unkept.items())}
    return msgspec.msgpack.encode((_CACHE_VERSION, rows, unkept))


def decode(root: Path, text: bytes) -> Mirror:
    """Load a serialized mirror; empty if it cannot be read."""
    mirror = Mirror(root, Folder("", None, stat.S_IFDIR | USUAL_FOLDER))
    try:
        version, rows, unkept = msgspec.msgpack.decode(text, type=_Cache)
    except msgspec.MsgspecError:
        return mirror
    if version != _CACHE_VERSION:
        return mirror
    # A file or folder that is unchanged is not looked at again, so nothing else names it.
    mirror.unkept = {decode_name(path): why for path, why in unkept.items()}
    for encoded, mode, is_ignored, is_kept, files, xattrs in rows:
        path = decode_name(encoded)
        where, _, name = path.rpartition("/")
        parent = mirror.top.at(where)
        if not path:
            folder = mirror.top
        elif parent is None:
            continue
        else:
            folder = Folder(name, parent, mode)
            parent.entries[name] = folder
        folder.mode, folder.is_ignored, folder.is_kept = mode, is_ignored, is_kept
        folder.xattrs = {decode_name(each): found for each, found in xattrs.items()} or None
        for each, file_mode, id_, size, stamp, is_file_ignored in files:
            file = File(file_mode, size, is_ignored=is_file_ignored)
            file.id, file.stamp = id_, stamp
            folder.entries[decode_name(each)] = file
    return mirror

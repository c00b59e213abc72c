"""Metadata of all files below a folder, and the git trees that store them.

The tree `files` of a snapshot differs from a checkout. Each name has the prefix `+`, because git
rejects the name `.git`. The entry `-` of a folder stores unusual metadata of the folder and its
files that git does not store: permissions, pipes, and extended attributes.
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
"""Name of a folder's entry for metadata that git does not store."""

USUAL_FILE: Final = 0o644
USUAL_PROGRAM: Final = 0o755
USUAL_FOLDER: Final = 0o755

_CACHE_VERSION: Final = 2


class File:
    """A file, a symbolic link, or a pipe.

    Attributes:
        mode: `st_mode` of the file.
        id: id of the blob; empty if the file is not saved.
        stamp: result of `stamp_of`; 0 if the file must be read again.
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
        is_kept: whether its content is scanned and saved.
        inner: its folders while `tree` is known; a search in `entries` is slower.
        digest: digest of its names and their states, if they match `entries`; 0 if unknown.
        xattrs: extended attributes, by name; those of the folder itself under an empty name.
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
        """Whether the folder is a nested repository."""
        return self.parent is not None and ".git" in self.entries

    def changed(self) -> None:
        """Discard the trees of the folder and of its parents."""
        self.digest = 0
        here: Folder = self
        while here.tree is not None:
            here.tree = here.work = None
            here = here.parent or here

    def folders(self) -> "list[Folder]":
        """The folders in this folder."""
        return [each for each in self.entries.values() if isinstance(each, Folder)]

    def kept_folders(self) -> "list[Folder]":
        """The folders in this folder that are scanned."""
        inner = self.inner if self.tree is not None else self.folders()
        return [each for each in inner if each.is_kept]

    def below(self) -> "Iterator[Folder]":
        """The folder and all folders below it, parents first."""
        waiting: list[Folder] = [self]
        while waiting:
            here = waiting.pop()
            yield here
            waiting += here.inner if here.tree is not None else here.folders()

    def at(self, path: str) -> "Folder | None":
        """The folder at a relative path; None if it does not exist."""
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
        mode: permissions of the folder.
        modes: permissions of files other than 0644 and 0755, by name.
        pipes: permissions of named pipes, by name.
        xattrs: extended attributes, by name; those of the folder itself under an empty name.
    """

    mode: int = USUAL_FOLDER
    modes: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    pipes: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    xattrs: dict[str, dict[str, bytes]] = msgspec.field(default_factory=dict[str, dict[str, bytes]])


def encode_name(name: str) -> str:
    """Encode a name of any bytes for JSON."""
    return os.fsencode(name).decode("latin-1")


def decode_name(text: str) -> str:
    """Decode a name from JSON."""
    return os.fsdecode(text.encode("latin-1"))


@dataclass(slots=True)
class Mirror:
    """The files below one folder at the last scan.

    Attributes:
        linked: device and inode of files with several hard links, by path.
        unkept: reasons why paths are not saved, by path.
        deleted: deleted files that git did not ignore; git is not asked again if they reappear.
    """

    root: Path
    top: Folder
    linked: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    unkept: dict[str, str] = field(default_factory=dict[str, str])
    deleted: set[str] = field(default_factory=set[str])
    is_seen: bool = False

    def build(self, objects: Objects, commit_of: Callable[[str], str | None]) -> str:
        """Write the changed trees; return the id of the root's tree.

        Args:
            objects: receives the trees.
            commit_of: returns the commit of a nested repository, by its path.

        Raises:
            OSError: a tree cannot be written.
        """
        order = [self.top] if self.top.tree is None else []
        for folder in order:
            order += [each for each in folder.folders() if each.tree is None and each.is_kept]
        for folder in reversed(order):
            _build(folder, objects, commit_of)
        assert self.top.tree is not None
        return self.top.tree

    def links(self) -> list[list[str]]:
        """The paths of each file with several hard links in this folder."""
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
    """The entry of a folder in git's own tree; a nested repository is a commit."""
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
    """Serialize the mirror for the next start, which compares each file's stamp."""
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
    # Sort, so that equal states give equal bytes.
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
    # Unchanged files are not read again, so their reasons come only from here.
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

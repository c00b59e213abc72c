"""Git objects written and read without git: blobs, trees, and commits of a store."""

import hashlib
import mmap
import os
import time
import zlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from struct import unpack_from
from typing import BinaryIO, Final

from localio.files import PRIVATE_FILE_MODE, sync_path

BLOB: Final = "100644"
PROGRAM: Final = "100755"
LINK: Final = "120000"
FOLDER: Final = "40000"
COMMIT: Final = "160000"

_CHUNK: Final = 1 << 20
_SYNCED_ONE_BY_ONE: Final = 256
"""Objects above which one system `sync` is faster, although it reports no disk errors."""

_RECENT_SECONDS: Final = 86400.0
"""Seconds; less than the age at which an unreachable object is pruned."""

_TICK: Final = 0.1
"""Maximum lag of a file system's clock in seconds."""

_PREFIX: Final = 2
"""Number of leading letters of an object id that name its folder."""

_INDEX_MAGIC: Final = b"\xfftOc\x00\x00\x00\x02"
_FANOUT: Final = 8


_unsynced: Final[dict[str, set[str]]] = {}
"""Paths of objects that are not synced to disk, by directory, which worktrees share."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One entry of a tree; `mode` as git writes it, in octal."""

    mode: str
    name: bytes
    id: str


class Objects:
    """The object database of one store.

    Objects written by `put_*` are on disk after `sync`.

    Args:
        directory: its `objects` directory.
        algorithm: `sha1` or `sha256`, as in the clone.
    """

    def __init__(self, directory: Path, algorithm: str) -> None:
        self._directory = directory
        self._algorithm = algorithm
        self._packs: dict[str, bytes | mmap.mmap] = {}
        self._packs_at = -1
        self._unsynced = _unsynced.setdefault(str(directory), set())

    def put(self, kind: str, data: bytes) -> str:
        """Write an object if it is new; return its id.

        Raises:
            OSError: the object cannot be written.
        """
        raw = f"{kind} {len(data)}".encode() + b"\0" + data
        id_ = hashlib.new(self._algorithm, raw, usedforsecurity=False).hexdigest()
        if not self._has_fresh(id_):
            self._write(id_, BytesIO(raw))
        return id_

    def put_tree(self, entries: Iterable[TreeEntry]) -> str:
        """Write a tree; return its id."""
        ordered = sorted(entries, key=lambda each: each.name + b"/" * (each.mode == FOLDER))
        return self.put(
            "tree",
            b"".join(
                each.mode.encode() + b" " + each.name + b"\0" + bytes.fromhex(each.id)
                for each in ordered
            ),
        )

    def put_file(self, file: BinaryIO, size: int) -> str:
        """Write the content of an open file; return its id.

        Args:
            file: the file.
            size: its size in bytes.

        Raises:
            OSError: the file cannot be read, it changes during the read, or the store fails.
        """
        if size <= _CHUNK:
            return self.put("blob", file.read(_CHUNK + 1))
        id_ = id_of_file(self._algorithm, file, size)
        if not self._has_fresh(id_):
            file.seek(0)
            self._write(id_, file, _blob_header(size))
        return id_

    def has(self, id_: str) -> bool:
        """Whether an object exists, loose or in a pack."""
        return os.path.exists(self._path(id_)) or self._is_packed(id_)  # noqa: PTH110 - often called

    def _has_fresh(self, id_: str) -> bool:
        """Whether an object exists; touch it, as git does, so that it is not pruned."""
        path = self._path(id_)
        try:
            if os.stat(path).st_mtime < time.time() - _RECENT_SECONDS:  # noqa: PTH116 - often called
                os.utime(path)
        except FileNotFoundError:
            return self._is_packed(id_)
        return True

    def loose(self, id_: str) -> tuple[str, bytes] | None:
        """Kind and content of a loose object; None if it is packed or missing.

        Raises:
            OSError: the object is damaged.
        """
        try:
            with open(self._path(id_), "rb") as file:  # noqa: PTH123 - often called
                kind, _, data = zlib.decompress(file.read()).partition(b"\0")
        except FileNotFoundError:
            return None
        except zlib.error as error:
            raise OSError(f"object {id_} is damaged: {error}") from error
        return kind.partition(b" ")[0].decode(), data

    def loose_size(self, id_: str) -> int | None:
        """Size of a loose object on disk; None if it does not exist."""
        try:
            return os.stat(self._path(id_)).st_size  # noqa: PTH116 - often called
        except OSError:
            return None

    def copy_loose(self, id_: str, target: BinaryIO) -> None:
        """Write the content of a loose blob into a file, in chunks.

        Raises:
            OSError: the blob is missing or damaged, or the file cannot be written.
        """
        inflate, is_body = zlib.decompressobj(), False
        with Path(self._path(id_)).open("rb") as file:
            while chunk := file.read(_CHUNK):
                data = inflate.decompress(chunk)
                if not is_body:
                    _, _, data = data.partition(b"\0")
                    is_body = True
                target.write(data)
        target.write(inflate.flush())

    def sync(self) -> None:
        """Sync written objects to disk, before a ref names them.

        Raises:
            OSError: an object cannot be synced.
        """
        written = list(self._unsynced)
        if len(written) > _SYNCED_ONE_BY_ONE:
            os.sync()
        elif written:
            folders = {path.rpartition("/")[0] for path in written}
            # Another process may have pruned an object.
            there = filter(os.path.exists, [*written, *folders, str(self._directory)])
            with ThreadPoolExecutor(8) as pool:
                # Parallel requests let the disk combine its writes.
                list(pool.map(sync_path, there))
        # Remove them only now, because another writer relies on this set.
        self._unsynced.difference_update(written)

    def take_note(self, since: float) -> None:
        """Include objects that git has written since a time in the next `sync`.

        Git does not sync loose objects by default (git-config(1), `core.fsync`).
        """
        since -= _TICK
        for folder in os.scandir(self._directory):
            if len(folder.name) == _PREFIX and folder.stat().st_mtime >= since:
                entries = list(os.scandir(folder))
                self._unsynced.update(e.path for e in entries if e.stat().st_mtime >= since)

    def forget_packs(self) -> None:
        """Reread the list of packs after a change."""
        self._packs_at = -1

    def _path(self, id_: str) -> str:
        return f"{self._directory}/{id_[:2]}/{id_[2:]}"

    def _write(self, id_: str, source: BinaryIO, header: bytes = b"") -> None:
        path = self._path(id_)
        temporary = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        try:
            handle = os.open(temporary, flags, PRIVATE_FILE_MODE)
        except FileNotFoundError:
            Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(temporary, flags, PRIVATE_FILE_MODE)
        try:
            with os.fdopen(handle, "wb") as file:
                _deflate(self._algorithm, id_, source, header, file)
            os.rename(temporary, path)  # noqa: PTH104 - often called
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108 - a string
            raise
        self._unsynced.add(path)

    def _is_packed(self, id_: str) -> bool:
        folder = self._directory / "pack"
        try:
            changed_at = folder.stat().st_mtime_ns
        except OSError:
            return False
        if changed_at != self._packs_at:
            self._packs = {path.name: _mapped(path) for path in folder.glob("*.idx")}
            self._packs_at = changed_at
        raw = bytes.fromhex(id_)
        return any(_is_listed(index, raw) for index in self._packs.values())


def _deflate(algorithm: str, id_: str, source: BinaryIO, header: bytes, target: BinaryIO) -> None:
    deflate = zlib.compressobj(1)
    digest = hashlib.new(algorithm, header, usedforsecurity=False)
    target.write(deflate.compress(header))
    while chunk := source.read(_CHUNK):
        if header:
            digest.update(chunk)
        target.write(deflate.compress(chunk))
    target.write(deflate.flush())
    # The file is read twice and may have changed after its id was computed.
    if header and digest.hexdigest() != id_:
        raise BlockingIOError("it changes while it is read")


def id_of_file(algorithm: str, file: BinaryIO, size: int) -> str:
    """Compute the id of an open file's content.

    Raises:
        OSError: the file cannot be read, or its size is not `size`.
    """
    digest = hashlib.new(algorithm, _blob_header(size), usedforsecurity=False)
    read = 0
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
        read += len(chunk)
    if read != size:
        raise BlockingIOError(f"its size changes while it is read: {read}, not {size}")
    return digest.hexdigest()


def entries_of(tree: bytes, id_size: int) -> Iterable[TreeEntry]:
    """The entries of a tree's content; `id_size` is 20 or 32."""
    place = 0
    while place < len(tree):
        space = tree.index(b" ", place)
        end = tree.index(b"\0", space)
        id_ = tree[end + 1 : end + 1 + id_size].hex()
        yield TreeEntry(tree[place:space].decode(), tree[space + 1 : end], id_)
        place = end + 1 + id_size


def commit_text(tree: str, parents: Iterable[str], at: int, message: str) -> bytes:
    """The content of a commit whose author is Symposium."""
    by = f"symposium <symposium@localhost> {at} +0000"
    lines = [f"tree {tree}", *(f"parent {each}" for each in parents)]
    lines += [f"author {by}", f"committer {by}", "", message]
    return "\n".join(lines).encode()


def _blob_header(size: int) -> bytes:
    return f"blob {size}".encode() + b"\0"


def _mapped(path: Path) -> bytes | mmap.mmap:
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        return b""


def _is_listed(index: bytes | mmap.mmap, id_: bytes) -> bool:
    """Whether a pack's index, version 2 (gitformat-pack(5)), lists an object."""
    size, names = len(id_), _FANOUT + 256 * 4
    if len(index) < names or index[:_FANOUT] != _INDEX_MAGIC:
        return False
    first = id_[0]
    low = unpack_from(">I", index, _FANOUT + 4 * (first - 1))[0] if first else 0
    high = unpack_from(">I", index, _FANOUT + 4 * first)[0]
    while low < high:
        middle = (low + high) // 2
        found = index[names + middle * size : names + (middle + 1) * size]
        if found == id_:
            return True
        low, high = (middle + 1, high) if found < id_ else (low, middle)
    return False

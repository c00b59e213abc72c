"""Read new and changed files into the store."""

import errno
import os
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from symposium.tasks.snapshots.exclusions import Bounds, exclusion_of
from symposium.tasks.snapshots.file_metadata import File, Folder, Mirror
from symposium.tasks.snapshots.objects import Objects

_RACY: Final = 50_000_000
"""Nanoseconds after a change during which another change may not alter the file's times."""

_TRIES: Final = 3
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_USER: Final = "user."


@dataclass(frozen=True, slots=True)
class PendingReads:
    """A file to read."""

    folder: Folder
    name: str
    path: str
    state: os.stat_result


@dataclass(frozen=True, slots=True)
class SnapshotReading:
    """Read files below a folder.

    Attributes:
        objects: receives their content.
        precious: patterns of ignored files that are saved at any size.
    """

    mirror: Mirror
    objects: Objects
    bounds: Bounds = field(default_factory=Bounds)
    precious: tuple[str, ...] = ()

    def read(self, pending: list[PendingReads], seeds: Mapping[str, str]) -> list[PendingReads]:
        """Write the content of files; return the files that no longer exist.

        Args:
            pending: the files.
            seeds: ids from git's index, by path; these files need not be read.

        Raises:
            OSError: the store cannot be written.
        """
        gone: list[PendingReads] = []
        for each in pending:
            file = each.folder.entries.get(each.name)
            if not isinstance(file, File):
                continue
            self.mirror.unkept.pop(each.path, None)
            if file.is_ignored and self._is_left_out(each, file):
                continue
            id_ = seeds.get(each.path)
            if id_ is not None and stat.S_ISREG(file.mode) and self.objects.has(id_):
                file.id = bytes.fromhex(id_)
                file.stamp = stamp_of(each.state)
                note_xattrs(self.mirror, each.folder, each.name, each.path)
                continue
            try:
                self._read(each, file)
            except FileNotFoundError:
                gone.append(each)
            except _StoreError as error:
                raise error.cause from error
            except OSError as error:
                file.id, file.stamp = b"", 0
                self.mirror.unkept[each.path] = f"cannot be read: {error.strerror or error}"
        return gone

    def _is_left_out(self, pending: PendingReads, file: File) -> bool:
        where = self.mirror.root / pending.path.rpartition("/")[0]
        reason = exclusion_of(where, pending.name, file.size, self.bounds, self.precious)
        if reason is None:
            return False
        file.id, file.stamp = b"", stamp_of(pending.state)
        if reason:
            self.mirror.unkept[pending.path] = reason
        return True

    def _read(self, pending: PendingReads, file: File) -> None:
        path = f"{self.mirror.root}/{pending.path}"
        note_xattrs(self.mirror, pending.folder, pending.name, pending.path)
        if stat.S_ISLNK(file.mode):
            target = os.fsencode(os.readlink(path))  # noqa: PTH115 - a string
            file.id = bytes.fromhex(_stored(self.objects, target))
            file.stamp = stamp_of(pending.state)
            return
        if not stat.S_ISREG(file.mode):
            file.id, file.stamp = b"", stamp_of(pending.state)
            if not stat.S_ISFIFO(file.mode):
                self.mirror.unkept[pending.path] = "is a socket or a device"
            return
        for left in reversed(range(_TRIES)):
            with os.fdopen(os.open(path, _READ), "rb") as opened:
                before = os.fstat(opened.fileno())
                # Check before the read, because a slow read makes a recent change look old.
                was_racy = is_racy(before)
                try:
                    id_ = self.objects.put_file(opened, before.st_size)
                except BlockingIOError:
                    continue
                except OSError as error:
                    raise _StoreError(error) from error
                is_same = stamp_of(before) == stamp_of(os.fstat(opened.fileno()))
            if is_same or not left:
                file.id, file.mode, file.size = bytes.fromhex(id_), before.st_mode, before.st_size
                file.stamp = 0 if was_racy or not is_same else stamp_of(before)
                return
        raise OSError(errno.EBUSY, "it keeps changing", path)


def note_xattrs(mirror: Mirror, folder: Folder, name: str, path: str) -> None:
    """Update the extended attributes of a file; for the folder itself, `name` is empty."""
    place, found = f"{mirror.root}/{path}" if path else str(mirror.root), dict[str, bytes]()
    try:
        for key in os.listxattr(place, follow_symlinks=False):
            if key.startswith(_USER):
                found[key] = os.getxattr(place, key, follow_symlinks=False)
    except (OSError, AttributeError):
        # The file system or the operating system does not support them.
        found = {}
    known = folder.xattrs or {}
    if found != known.get(name, {}):
        folder.xattrs = {key: each for key, each in known.items() if key != name}
        if found:
            folder.xattrs[name] = found
        folder.changed()


class _StoreError(Exception):
    """An error of the store, in contrast to one of the file that was read."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _stored(objects: Objects, data: bytes) -> str:
    try:
        return objects.put("blob", data)
    except OSError as error:
        raise _StoreError(error) from error


def stamp_of(state: os.stat_result) -> int:
    """Hash of a file's size, times, inode, and mode, to detect changes."""
    return hash((state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_mode))


def is_racy(state: os.stat_result) -> bool:
    """Whether a file changed so recently that another change may not alter its times."""
    return time.time_ns() - state.st_ctime_ns < _RACY

"""Events of the kernel about changes below a folder (inotify(7)), read through ctypes.

The kernel queues an event before the system call that causes it returns. An empty queue therefore
means that all earlier changes have been read, without a thread, a delay, or a sentinel file.
"""

import ctypes
import os
import struct
import sys
from dataclasses import dataclass, field
from typing import Final

_CREATE: Final = 0x100
_MASK: Final = (
    0x2  # IN_MODIFY
    | 0x4  # IN_ATTRIB
    | 0x8  # IN_CLOSE_WRITE: the only event for writes through a memory mapping
    | 0x40  # IN_MOVED_FROM
    | 0x80  # IN_MOVED_TO
    | _CREATE
    | 0x200  # IN_DELETE
    | 0x400  # IN_DELETE_SELF
    | 0x800  # IN_MOVE_SELF
    | 0x01000000  # IN_ONLYDIR
    | 0x02000000  # IN_DONT_FOLLOW
    | 0x04000000  # IN_EXCL_UNLINK
)
_OVERFLOW: Final = 0x4000
_IGNORED: Final = 0x8000
_UNMOUNT: Final = 0x2000
_LOST: Final = 0x400 | 0x800 | _IGNORED
"""Events for a removed or moved folder."""

_REPLACED: Final = 0x40 | 0x80 | _CREATE | 0x200
"""Events after which a name may refer to another folder."""

_FLAGS: Final = os.O_NONBLOCK | os.O_CLOEXEC
_HEAD: Final = struct.Struct("iIII")
_AT_ONCE: Final = 1 << 16


class WatchError(Exception):
    """The kernel does not support watches, or their limit is reached."""


@dataclass(slots=True)
class Noticed:
    """Changes since the last reading.

    Attributes:
        names: changed names, by folder.
        replaced: paths of names that were created, deleted, or moved.
        is_whole: whether no event was lost; otherwise all folders must be read.
    """

    names: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    replaced: set[str] = field(default_factory=set[str])
    is_whole: bool = True


class Watch:
    """Watch folders without their subfolders, which the caller adds separately."""

    def __init__(self) -> None:
        """Open an inotify instance.

        Raises:
            WatchError: inotify is missing, or the limit of its instances is reached.
        """
        if not sys.platform.startswith("linux"):
            raise WatchError(f"{sys.platform} has no inotify")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._handle = self._libc.inotify_init1(_FLAGS)
        if self._handle < 0:
            raise WatchError(f"inotify_init1: {os.strerror(ctypes.get_errno())}")
        self._folders: dict[int, str] = {}
        self._numbers: dict[str, int] = {}

    def close(self) -> None:
        """Close the inotify instance."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    def __len__(self) -> int:
        """The number of folders that are watched."""
        return len(self._folders)

    def add(self, root: str, folder: str) -> None:
        """Watch a folder before it is read, so that changes during the read are noticed.

        Args:
            root: absolute path of the root.
            folder: path below the root; empty for the root.

        Raises:
            WatchError: the limit of watches is reached.
            OSError: the folder cannot be watched, for example because it does not exist.
        """
        path = os.fsencode(f"{root}/{folder}" if folder else root)
        number = self._libc.inotify_add_watch(self._handle, path, _MASK)
        if number < 0:
            code = ctypes.get_errno()
            if os.strerror(code) in {os.strerror(28), os.strerror(12)}:
                raise WatchError(f"inotify_add_watch: {os.strerror(code)}")
            raise OSError(code, os.strerror(code), path)
        # A folder that was moved keeps its number.
        if (before := self._folders.get(number)) is not None:
            self._numbers.pop(before, None)
        self._folders[number] = folder
        self._numbers[folder] = number

    def knows(self, folder: str) -> bool:
        """Whether a folder is watched."""
        return folder in self._numbers

    def remove(self, folder: str) -> None:
        """Stop watching a folder."""
        number = self._numbers.pop(folder, None)
        if number is not None and self._folders.get(number) == folder:
            del self._folders[number]
            self._libc.inotify_rm_watch(self._handle, number)

    def read(self) -> Noticed:
        """Every change made before this call."""
        found = Noticed()
        while True:
            try:
                data = os.read(self._handle, _AT_ONCE)
            except BlockingIOError:
                return found
            self._take(data, found)

    def _take(self, data: bytes, found: Noticed) -> None:
        place = 0
        while place < len(data):
            number, mask, _, size = _HEAD.unpack_from(data, place)
            raw = data[place + _HEAD.size : place + _HEAD.size + size].rstrip(b"\0")
            place += _HEAD.size + size
            if mask & (_OVERFLOW | _UNMOUNT):
                found.is_whole = False
                continue
            folder = self._folders.get(number)
            if folder is None:
                continue
            if mask & _IGNORED:
                del self._folders[number]
                if self._numbers.get(folder) == number:
                    del self._numbers[folder]
            if not raw:
                # The parent of every folder except the root gets this event, too.
                if not folder and mask & _LOST:
                    found.is_whole = False
                elif not folder:
                    found.names.setdefault("", set()).add("")
                continue
            name = os.fsdecode(raw)
            found.names.setdefault(folder, set()).add(name)
            if mask & _REPLACED:
                found.replaced.add(f"{folder}/{name}" if folder else name)

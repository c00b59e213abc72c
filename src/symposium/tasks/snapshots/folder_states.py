"""Read the names in a folder and the state of each file, with few Python objects.

A scan of all files reads the state of each, and most have not changed. `os.stat` creates about
twenty objects for a file. Where the system has statx(2), the states of a folder are read into one
buffer instead, and their digest is compared with the one of the last scan.
"""

import ctypes
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Final, Literal, TypeAlias

from symposium.tasks.snapshots.file_contents import stamp_of

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NO_FOLLOW: Final = 0x100 | 0x800  # AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, as lstat(2)
_MASK: Final = 0x3DF  # STATX_BASIC_STATS without STATX_ATIME and STATX_BLOCKS
_SIZE: Final = 256  # of struct statx
_AT_ONCE: Final = 256
_SECOND: Final = 1_000_000_000

_statx: Final[Callable[..., int] | None] = getattr(ctypes.CDLL(None), "statx", None)

_Format: TypeAlias = Literal["H", "I", "Q", "q"]
_FIELDS: Final[tuple[tuple[_Format, int], ...]] = (
    *(("I", 16), ("H", 28), ("Q", 32), ("Q", 40)),  # stx_nlink, stx_mode, stx_ino, stx_size
    *(("q", 96), ("I", 104), ("q", 112), ("I", 120)),  # seconds, nanoseconds of ctime and mtime
    ("Q", 136),  # stx_dev_major, stx_dev_minor
)
"""Format and offset of the compared fields of struct statx; the same on all architectures."""

_FileState: TypeAlias = tuple[str, int, int, int]
"""Name, number of links, mode, and stamp; no links if the state cannot be read."""


@dataclass(frozen=True, slots=True)
class FolderStates:
    """The names in a folder and the state of each.

    Attributes:
        digest: changes with each name and state; 0 if unknown.
    """

    names: list[str]
    digest: int
    _columns: list[tuple[bytes, ...]] | None
    _states: list[_FileState]

    def states(self) -> Iterable[_FileState]:
        """Name, number of links, mode, and stamp of each file."""
        return self._states if self._columns is None else self._read(self._columns)

    def _read(self, found: list[tuple[bytes, ...]]) -> Iterator[_FileState]:
        start = 0
        for columns in found:
            links, modes, inodes, sizes, changed, changed_ns, written, written_ns, _ = (
                memoryview(column).cast(form).tolist()
                for (form, _), column in zip(_FIELDS, columns, strict=True)
            )
            names = self.names[start : start + _AT_ONCE]
            start += _AT_ONCE
            mtimes = [s * _SECOND + ns for s, ns in zip(written, written_ns, strict=True)]
            ctimes = [s * _SECOND + ns for s, ns in zip(changed, changed_ns, strict=True)]
            # As in `stamp_of`.
            stamps = map(hash, zip(sizes, mtimes, ctimes, inodes, modes, strict=True))
            yield from zip(names, links, modes, stamps, strict=True)


class FolderReader:
    """Read folders, one at a time."""

    def __init__(self) -> None:
        buffer = bytearray(_SIZE * _AT_ONCE)
        self._slots = [
            (ctypes.c_char * _SIZE).from_buffer(buffer, start)
            for start in range(0, len(buffer), _SIZE)
        ]
        self._views: list[tuple[memoryview[int], int, int]] = []
        for form, offset in _FIELDS:
            view = memoryview(buffer).cast(form)
            self._views.append((view, offset // view.itemsize, _SIZE // view.itemsize))

    def read(self, path: str) -> FolderStates:
        """Read a folder.

        Raises:
            OSError: it cannot be read.
        """
        # Names are looked up in the open folder: an absolute path costs the kernel more each time.
        handle = os.open(path, _FOLDER)
        try:
            names = os.listdir(handle)  # noqa: PTH208 - pathlib has no handles
            raw = os.fsencode("\0".join(names))
            columns = self._columns(handle, raw.split(b"\0") if names else [])
            if columns is None:
                return FolderStates(names, 0, None, _states(handle, names))
        finally:
            os.close(handle)
        return FolderStates(names, hash((raw, *columns)), columns, [])

    def _columns(self, handle: int, names: list[bytes]) -> list[tuple[bytes, ...]] | None:
        """The fields of all files; None if statx(2) does not exist or fails."""
        if _statx is None:
            return None
        found: list[tuple[bytes, ...]] = []
        for start in range(0, len(names), _AT_ONCE):
            some = names[start : start + _AT_ONCE]
            # No loop in Python: it would take as long as the calls.
            if any(
                map(_statx, repeat(handle), some, repeat(_NO_FOLLOW), repeat(_MASK), self._slots)
            ):
                return None
            end = len(some)
            found.append(
                tuple(view[at : end * step : step].tobytes() for view, at, step in self._views)
            )
        return found


def _states(handle: int, names: list[str]) -> list[_FileState]:
    found: list[_FileState] = []
    for name in names:
        try:
            state = os.stat(name, dir_fd=handle, follow_symlinks=False)
        except OSError:
            found.append((name, 0, 0, 0))
        else:
            found.append((name, state.st_nlink, state.st_mode, stamp_of(state)))
    return found

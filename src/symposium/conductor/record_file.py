"""A file that lines are appended to while a chain runs, and that never stands in the chain's way.

It is made here and nowhere else, readable by its owner alone. Lines wait in memory for the end of
the loop's turn and go out as whole lines; a file that cannot be written any more ends the
recording, with one line in the log, and nothing else.
"""

import asyncio
import logging
import os
import time
from contextlib import suppress
from errno import ENOENT
from pathlib import Path
from typing import Final

from symposium.errors import SymposiumError

_log = logging.getLogger(__name__)

SOON: Final = 256 * 1024
"""Bytes that may wait for the end of the turn: a longer turn writes meanwhile."""

MOST_IN_ONE_SECOND: Final = 1000
"""Files that one second's name is numbered up to before the directory is taken to be broken."""


class RecordingError(SymposiumError):
    """What was asked to be recorded cannot be."""


class RecordFile:
    """One such file; made by `new_file`.

    Attributes:
        path: where it is.
    """

    def __init__(self, descriptor: int, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = descriptor
        self._lines: list[bytes] = []
        self._waiting = 0
        self._written = 0
        self._is_scheduled = False

    @property
    def is_open(self) -> bool:
        """Whether what is written still gets there."""
        return self._descriptor is not None

    def write(self, line: bytes) -> None:
        """Append a line, without its newline; it is written when the loop's turn ends."""
        if self._descriptor is None:
            return
        self._lines.append(line)
        self._waiting += len(line)
        if self._waiting > SOON:
            self.flush()
        elif not self._is_scheduled:
            self._schedule()

    def flush(self) -> None:
        """Write what waits."""
        if self._descriptor is None or not self._lines:
            return
        lines = b"\n".join([*self._lines, b""])
        self._lines.clear()
        self._waiting = 0
        try:
            if not os.fstat(self._descriptor).st_nlink:
                raise FileNotFoundError(ENOENT, "it has been removed")
            rest = memoryview(lines)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            self._give_up(self._descriptor, error)
        else:
            self._written += len(lines)

    def close(self) -> None:
        """Write what waits and give the file back; closing twice is no harm."""
        self.flush()
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _schedule(self) -> None:
        try:
            asyncio.get_running_loop().call_soon(self._turn_ended)
            self._is_scheduled = True
        except RuntimeError:  # no loop, and so no turn to wait for
            self.flush()

    def _turn_ended(self) -> None:
        self._is_scheduled = False
        self.flush()

    def _give_up(self, descriptor: int, error: OSError) -> None:
        self._descriptor = None
        with suppress(OSError):
            os.ftruncate(descriptor, self._written)  # half a line is of no use to a reader
        os.close(descriptor)
        _log.warning("nothing more is recorded in %s: %s", self.path, error.strerror or error)


def new_file(directory: Path, stem: str, suffix: str) -> RecordFile:
    """Make a file of that name, numbered if there is one already, in a directory made if need be.

    Raises:
        RecordingError: the directory cannot be made or written to.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for number in range(1, MOST_IN_ONE_SECOND):
            path = directory / f"{stem}{'' if number == 1 else f'-{number}'}{suffix}"
            with suppress(FileExistsError):
                return RecordFile(os.open(path, flags, 0o600), path)
    except OSError as error:
        message = f"cannot record into {directory}: {error.strerror or error}"
        raise RecordingError(message, "name a directory that you may write to") from error
    raise RecordingError(f"cannot record into {directory}: every name is taken", "empty it")


def time_stem() -> str:
    """The name of a file that begins now: local date and time, to the second."""
    return time.strftime("%Y%m%d-%H%M%S")

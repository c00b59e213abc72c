"""Files for recordings of a chain.

They are readable only by their owner. Lines are buffered until the end of the event loop's turn and
written completely. If writing fails, the recording stops with one log message.
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

FLUSH_BYTES: Final = 256 * 1024
"""Maximum size of the buffer in bytes; a longer turn writes earlier."""

MAX_PER_SECOND: Final = 1000
"""Maximum number of files with the same second in their name."""


class RecordingError(SymposiumError):
    """A requested recording cannot be started."""


class RecordFile:
    """A recording file; made by `new_file`.

    Attributes:
        path: its path.
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
        """Whether lines are still written."""
        return self._descriptor is not None

    def write(self, line: bytes) -> None:
        """Append a line, without newline; written at the end of the loop's turn."""
        if self._descriptor is None:
            return
        self._lines.append(line)
        self._waiting += len(line)
        if self._waiting > FLUSH_BYTES:
            self.flush()
        elif not self._is_scheduled:
            self._schedule()

    def flush(self) -> None:
        """Write the buffered lines to the file."""
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
        """Write the buffer and close the file; may be called twice."""
        self.flush()
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _schedule(self) -> None:
        try:
            asyncio.get_running_loop().call_soon(self._turn_ended)
            self._is_scheduled = True
        except RuntimeError:  # no event loop, so write at once
            self.flush()

    def _turn_ended(self) -> None:
        self._is_scheduled = False
        self.flush()

    def _give_up(self, descriptor: int, error: OSError) -> None:
        self._descriptor = None
        with suppress(OSError):
            os.ftruncate(descriptor, self._written)  # remove the incomplete line
        os.close(descriptor)
        _log.warning("stopped recording into %s: %s", self.path, error.strerror or error)


def new_file(directory: Path, stem: str, suffix: str) -> RecordFile:
    """Create a file, numbered if it exists, and its directory if necessary.

    Raises:
        RecordingError: the directory cannot be created or written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for number in range(1, MAX_PER_SECOND):
            path = directory / f"{stem}{'' if number == 1 else f'-{number}'}{suffix}"
            with suppress(FileExistsError):
                return RecordFile(os.open(path, flags, 0o600), path)
    except OSError as error:
        message = f"cannot record into {directory}: {error.strerror or error}"
        raise RecordingError(message, "choose a writable directory") from error
    raise RecordingError(f"cannot record into {directory}: every name is taken", "empty it")


def time_stem() -> str:
    """File name from the local date and time, to the second."""
    return time.strftime("%Y%m%d-%H%M%S")

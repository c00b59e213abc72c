"""The whole output of a run, in a file with a bound: its begin and its end are kept."""

import os
import tempfile
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Final

HALF: Final = 4 * 1024 * 1024
"""Bytes of the begin, and of the end."""

KEPT: Final = 30
"""Logs; older ones are removed."""


class LogFile:
    """A log being written; what falls between begin and end is counted.

    Args:
        directory: where; made if it is not there.
        name: what its name begins with.
        half: bytes that are kept of the begin, and of the end.
    """

    def __init__(self, directory: Path, name: str, *, half: int = HALF) -> None:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        _remove_old(directory)
        handle, path = tempfile.mkstemp(suffix=".log", prefix=f"{name}-", dir=directory)
        self.path = Path(path)
        self._file = os.fdopen(handle, "wb")
        self._half = half
        self._room = half
        self._end: deque[bytes] = deque()
        self._held = 0
        self._lost = 0

    def write(self, line: str) -> None:
        """Add a line."""
        written = f"{line}\n".encode(errors="replace")[: self._half]
        if not self._held and len(written) <= self._room:
            self._room -= len(written)
            self._file.write(written)
            return
        self._end.append(written)
        self._held += len(written)
        while self._held > self._half:
            gone = len(self._end.popleft())
            self._held -= gone
            self._lost += gone

    def close(self) -> None:
        """Write what was held back."""
        with self._file as file:
            if self._lost:
                file.write(f"[… {self._lost} bytes left out …]\n".encode())
            file.writelines(self._end)
        self._end.clear()


def _remove_old(directory: Path) -> None:
    logs = sorted(directory.glob("*.log"), key=_age)
    for each in logs[: max(0, len(logs) - KEPT + 1)]:
        with suppress(OSError):
            each.unlink()


def _age(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0

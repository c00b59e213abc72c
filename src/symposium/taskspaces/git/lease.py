"""Shows the next engine that a git of this one is still at work.

A killed engine leaves its gits running. Each inherits a file that is locked (flock(2)): as long as
one lives the lock is held, and the next engine waits for it before it mends anything.
"""

import fcntl
import os
import time
from pathlib import Path
from typing import Final

from symposium.git.program import inherited
from symposium.taskspaces.failures import TaskspaceError

_PAUSE: Final = 0.05


class Lease:
    """A locked file; taken by one engine at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def take(self, patience: float) -> None:
        """Wait until nobody holds it, then hold it; blocks, so not for an event loop.

        Raises:
            TaskspaceError: somebody still holds it after so many seconds.
        """
        if self._file is not None:
            return
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        until = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > until:
                    os.close(file)
                    reason = f"{self._path} is held by another engine, or by a git of the last one"
                    raise TaskspaceError(reason, "end it, or wait for it") from error
                time.sleep(_PAUSE)
        self._file = file
        inherited.add(file)

    def give_back(self) -> None:
        """Hold it no longer; gits that run hold it until they end."""
        if self._file is not None:
            inherited.discard(self._file)
            os.close(self._file)
            self._file = None

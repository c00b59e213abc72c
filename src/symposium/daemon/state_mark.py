"""Says which daemon has the tasks of a home, for another that comes to the same home.

Two daemons at two sockets may share a home, but only one works on its tasks: the other would wait
for as long as that one lives, and whoever asks it should hear why.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import DecodeError, Struct, ValidationError, json

from localio.files import write_whole

_FILE: Final = "taskspaces.daemon"


class _Mark(Struct, frozen=True):
    pid: int
    socket: str


class StateMark:
    """The mark of one daemon.

    Args:
        home: the directory of state.
        socket: where this daemon listens.
    """

    def __init__(self, home: Path, socket: Path) -> None:
        self._file = home / _FILE
        self._ours = _Mark(os.getpid(), str(socket))

    def put(self) -> None:
        """Say that it is this one.

        Raises:
            OSError: it cannot be written.
        """
        write_whole(self._file, json.encode(self._ours))

    def take_away(self) -> None:
        """Say it no longer."""
        if self._read() == self._ours:
            self._file.unlink(missing_ok=True)

    def other(self) -> tuple[int, str] | None:
        """The process and the socket of another that lives; one at our socket is just leaving."""
        found = self._read()
        if found is None or found.socket == self._ours.socket or not Path(found.socket).exists():
            return None
        try:
            os.kill(found.pid, 0)
        except ProcessLookupError:
            return None
        return found.pid, found.socket

    def _read(self) -> _Mark | None:
        with suppress(OSError, DecodeError, ValidationError):
            return json.decode(self._file.read_bytes(), type=_Mark)
        return None

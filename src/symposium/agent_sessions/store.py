"""Where sessions are kept: a directory each, and a lock in it that lives as long as the keeper."""

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock
from pathlib import Path
from typing import Final

from msgspec import DecodeError, ValidationError, json

from localio.files import make_private_directory, write_whole
from symposium.agent_sessions.session import (
    SessionError,
    SessionNotFoundError,
    SessionSpec,
    SessionState,
    Status,
    session_id,
)
from symposium.config.paths import Paths

SPEC: Final = "session.json"
STATE: Final = "state.json"
LOCK: Final = "lock"
LOG: Final = "keeper.log"
TERMINAL_LOG: Final = "terminal.log"

_SOCKET_NAME: Final = 12
"""Characters of an id in the name of its socket: the whole path has but some hundred bytes."""


_EXIT_TIME: Final = 5.0
"""Seconds that a session server may take to exit after it has written that its session ended."""

_RETRY: Final = 0.02


class SessionStore:
    """All sessions of one user.

    Args:
        places: the user's directories.
    """

    def __init__(self, places: Paths) -> None:
        self._root = places.home / "sessions"
        self._runtime = places.runtime

    def directory(self, id_: str) -> Path:
        """Where everything of a session is.

        Raises:
            SessionNotFoundError: that is no id.
        """
        return self._root / session_id(id_)

    def socket(self, id_: str) -> Path:
        """Where its keeper listens.

        Raises:
            SessionNotFoundError: that is no id.
        """
        return self._runtime / f"s-{session_id(id_).replace('-', '')[:_SOCKET_NAME]}.sock"

    def ids(self) -> Sequence[str]:
        """Those of all sessions, in no order."""
        try:
            return [each.name for each in self._root.iterdir() if (each / SPEC).is_file()]
        except FileNotFoundError:
            return []

    def add(self, spec: SessionSpec) -> Path:
        """Write a session down, in place of one of the same id that has ended.

        Raises:
            SessionError: one of that id is there, and lives.
            OSError: it cannot be written.
        """
        directory = self.directory(spec.id)
        if self.is_kept(spec.id):
            raise SessionError(
                f"the session {spec.id} is running already",
                f"`symposium session kill {spec.id}` ends it",
            )
        make_private_directory(directory)
        make_private_directory(self._runtime)
        write_whole(directory / SPEC, json.encode(spec).decode())
        return directory

    def spec(self, id_: str) -> SessionSpec:
        """What a session was started as.

        Raises:
            SessionNotFoundError: there is none of that id.
        """
        try:
            return json.decode((self.directory(id_) / SPEC).read_bytes(), type=SessionSpec)
        except (FileNotFoundError, NotADirectoryError, DecodeError, ValidationError) as error:
            raise SessionNotFoundError(
                f"there is no session {id_}", "`symposium session list` shows those there are"
            ) from error

    def state(self, id_: str) -> SessionState:
        """How it stands now: what the keeper wrote last, unless the keeper has gone since."""
        written = self._written(id_)
        if written.status in {Status.STARTING, Status.RUNNING} and not self.is_kept(id_):
            return replace(written, status=Status.LOST, reason="its keeper has gone")
        return written

    def changed_at(self, id_: str) -> float:
        """When its state was written last, in seconds since 1970; 0 where it never was."""
        try:
            return (self.directory(id_) / STATE).stat().st_mtime
        except OSError:
            return 0.0

    def write_state(self, id_: str, state: SessionState) -> None:
        """For the keeper: how it stands.

        Raises:
            OSError: it cannot be written.
        """
        write_whole(self.directory(id_) / STATE, json.encode(state).decode())

    def is_kept(self, id_: str) -> bool:
        """Whether its keeper lives: only a living process holds a lock."""
        try:
            handle = os.open(self.directory(id_) / LOCK, os.O_RDWR)
        except OSError:
            return False
        try:
            flock(handle, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            return True
        else:
            flock(handle, LOCK_UN)
            return False
        finally:
            os.close(handle)

    def lock(self, id_: str) -> int:
        """For the keeper: take the lock, for as long as the process lives.

        Raises:
            SessionError: another keeper has it.
            OSError: it cannot be made.
        """
        handle = os.open(self.directory(id_) / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            flock(handle, LOCK_EX | LOCK_NB)
        except BlockingIOError as error:
            os.close(handle)
            raise SessionError(f"the session {id_} has a keeper already", "") from error
        return handle

    def wait_for_exit(self, id_: str) -> None:
        """Wait for the server of a session that has ended; return at once for any other."""
        deadline = time.monotonic() + _EXIT_TIME
        while self._written(id_).status is Status.EXITED and self.is_kept(id_):
            if time.monotonic() > deadline:
                return
            time.sleep(_RETRY)

    def forget(self, id_: str) -> None:
        """Remove what is kept of a session that has ended.

        Raises:
            SessionError: it has not.
        """
        if self.is_kept(id_):
            raise SessionError(f"the session {id_} is running", "end it first")
        shutil.rmtree(self.directory(id_), ignore_errors=True)
        self.socket(id_).unlink(missing_ok=True)

    def _written(self, id_: str) -> SessionState:
        try:
            return json.decode((self.directory(id_) / STATE).read_bytes(), type=SessionState)
        except (FileNotFoundError, NotADirectoryError):
            return SessionState(Status.STARTING)
        except (DecodeError, ValidationError):
            return SessionState(Status.LOST, reason="its state cannot be read")

"""Values of agent sessions, and the store of sessions.

A session is one agent in one directory, run by its own process, the session server. The server
runs until the agent exits or is stopped (bus-mcp-taskspaces §3.9).
"""

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock
from pathlib import Path
from typing import Final
from uuid import UUID

from msgspec import DecodeError, Struct, ValidationError, json
from msgspec.structs import replace

from localio.files import make_private_directory, write_whole
from localio.redaction import agent_secrets
from peerwire.transports.command import CommandError, parse_command
from symposium.config.paths import Paths
from symposium.errors import NotFoundError, SymposiumError


class SessionError(SymposiumError):
    """An operation on an agent session failed."""


class SessionNotFoundError(SessionError, NotFoundError):
    """The session does not exist."""


class SessionKind(StrEnum):
    """Protocol of the agent."""

    TERMINAL = "terminal"
    """A program in its own terminal, for the user."""

    ACP = "acp"
    """An agent that speaks ACP and takes prompts."""


class Status(StrEnum):
    """Status of a session."""

    STARTING = "starting"
    RUNNING = "running"
    EXITED = "exited"
    """The agent exited, or was stopped on request."""

    LOST = "lost"
    """The session server ended without recording it: it was killed, or the machine crashed."""


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """A session to run.

    Attributes:
        id: a UUID in lower case; for the agent of a task, the id of the task.
        command: the words of a program for a terminal; one SPEC for ACP.
        cwd: absolute.
        env: set for the agent, in addition to the server's environment.
        prompt: the first prompt of an ACP agent, or None.
        mods: SPECs of the chain between the server and an ACP agent.
        title: for lists.
    """

    id: str
    kind: SessionKind
    command: tuple[str, ...]
    cwd: str
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    prompt: str | None = None
    mods: tuple[str, ...] = ()
    title: str = ""
    created_at: str = ""


def secrets_of(spec: SessionSpec) -> frozenset[str]:
    """Secrets among the variables of a session's agent; no record may contain them."""
    environment = dict(spec.env)
    for word in spec.command[:1]:
        with suppress(CommandError):
            environment |= parse_command(word).env
    return agent_secrets(environment)


@dataclass(frozen=True, slots=True)
class Login:
    """A login that an agent requires.

    Attributes:
        said: the agent's message.
        lines: the login methods, one line each, for the user.
        ways: methods that the agent runs itself: id to name.
        chosen: the method for the next start, or empty.
    """

    said: str
    lines: tuple[str, ...] = ()
    ways: Mapping[str, str] = field(default_factory=dict[str, str])
    chosen: str = ""


class ServerSessionState(Struct, frozen=True, rename={"server_pid": "keeper"}):
    """State of a session, written by its server.

    Attributes:
        server_pid: process id of the server; stored files call it `keeper`.
        exit_code: of the agent, negative for a signal; None if it runs, or if unknown.
        reason: explanation of the status, for the user.
        acp_session: session id of an ACP agent, to resume by.
        is_fresh: whether the last start lost the earlier conversation.
        login: the login that is required, if nothing else is missing.
        changed_at: end of the last turn that changed the worktree, in seconds since 1970, or 0.
    """

    status: Status
    server_pid: int = 0
    exit_code: int | None = None
    reason: str = ""
    acp_session: str | None = None
    is_fresh: bool = False
    login: Login | None = None
    changed_at: float = 0.0


AS_ASKED: Final = "ended as asked"
"""Reason of a session that was stopped on request; it is in the files of sessions."""

OF_TASK: Final = "SYMPOSIUM_TASKSPACE"
"""Variable that marks the session of a task's agent; both have the same id."""

_HINT: Final = "`symposium session list` shows the ids"


def session_id(text: str) -> str:
    """Normalize a session id.

    Raises:
        SessionNotFoundError: it is not a UUID, so there is no such session.
    """
    try:
        return str(UUID(text)) if len(text) == len(str(UUID(int=0))) else _reject(text)
    except ValueError:
        return _reject(text)


def _reject(text: str) -> str:
    raise SessionNotFoundError(f"{text[:80]!r} is not a session id", _HINT)


SPEC: Final = "session.json"
STATE: Final = "state.json"
LOCK: Final = "lock"
LOG: Final = "keeper.log"
TERMINAL_LOG: Final = "terminal.log"

_SOCKET_NAME: Final = 12
"""Characters of the id in a socket's name: the whole path is limited to about 100 bytes."""


_EXIT_TIME: Final = 5.0
"""Timeout in seconds for a server to exit after it has recorded the end of its session."""

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
        """Directory of a session.

        Raises:
            SessionNotFoundError: the id is invalid.
        """
        return self._root / session_id(id_)

    def socket(self, id_: str) -> Path:
        """Socket of the session server.

        Raises:
            SessionNotFoundError: the id is invalid.
        """
        return self._runtime / f"s-{session_id(id_).replace('-', '')[:_SOCKET_NAME]}.sock"

    def ids(self) -> Sequence[str]:
        """Ids of all sessions, unsorted."""
        try:
            return [each.name for each in self._root.iterdir() if (each / SPEC).is_file()]
        except FileNotFoundError:
            return []

    def add(self, spec: SessionSpec) -> Path:
        """Save a new session; it replaces one with the same id that has ended.

        Raises:
            SessionError: a session with this id is running.
            OSError: it cannot be written.
        """
        directory = self.directory(spec.id)
        if self.is_kept(spec.id):
            raise SessionError(
                f"the session {spec.id} is already running",
                f"run `symposium session kill {spec.id}` to stop it",
            )
        make_private_directory(directory)
        make_private_directory(self._runtime)
        write_whole(directory / SPEC, json.encode(spec).decode())
        return directory

    def spec(self, id_: str) -> SessionSpec:
        """Read the definition of a session.

        Raises:
            SessionNotFoundError: it does not exist.
        """
        try:
            return json.decode((self.directory(id_) / SPEC).read_bytes(), type=SessionSpec)
        except (FileNotFoundError, NotADirectoryError, DecodeError, ValidationError) as error:
            raise SessionNotFoundError(
                f"session {id_} does not exist", "run `symposium session list` to see all sessions"
            ) from error

    def spec_version(self, id_: str) -> tuple[int, ...]:
        """Numbers that change with the definition of a session; empty if it cannot be read."""
        try:
            state = os.stat(f"{self._root}/{session_id(id_)}/{SPEC}")  # noqa: PTH116 - often called
        except (SymposiumError, OSError):
            return ()
        return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns

    def state(self, id_: str) -> ServerSessionState:
        """Current state: the recorded one, or LOST if the server no longer runs."""
        written = self._written(id_)
        if written.status in {Status.STARTING, Status.RUNNING} and not self.is_kept(id_):
            return replace(written, status=Status.LOST, reason="its server exited unexpectedly")
        return written

    def changed_at(self, id_: str) -> float:
        """Time when the state was written, in seconds since 1970; 0 if it never was."""
        try:
            return (self.directory(id_) / STATE).stat().st_mtime
        except OSError:
            return 0.0

    def write_state(self, id_: str, state: ServerSessionState) -> None:
        """Record the state; only the session server calls this.

        Raises:
            OSError: it cannot be written.
        """
        write_whole(self.directory(id_) / STATE, json.encode(state).decode())

    def is_kept(self, id_: str) -> bool:
        """Whether the session server runs: only a live process holds the lock."""
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
        """Take the lock for the life of the process; only the session server calls this.

        Raises:
            SessionError: another server has it.
            OSError: it cannot be created.
        """
        handle = os.open(self.directory(id_) / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            flock(handle, LOCK_EX | LOCK_NB)
        except BlockingIOError as error:
            os.close(handle)
            raise SessionError(f"another server runs the session {id_}", "") from error
        return handle

    def wait_for_exit(self, id_: str) -> None:
        """Wait for the server of an ended session to exit; return at once for any other."""
        deadline = time.monotonic() + _EXIT_TIME
        while self._written(id_).status is Status.EXITED and self.is_kept(id_):
            if time.monotonic() > deadline:
                return
            time.sleep(_RETRY)

    def forget(self, id_: str) -> None:
        """Remove an ended session from the disk.

        Raises:
            SessionError: it is running.
        """
        if self.is_kept(id_):
            raise SessionError(f"the session {id_} is running", "stop it first")
        shutil.rmtree(self.directory(id_), ignore_errors=True)
        self.socket(id_).unlink(missing_ok=True)

    def _written(self, id_: str) -> ServerSessionState:
        try:
            return json.decode((self.directory(id_) / STATE).read_bytes(), type=ServerSessionState)
        except (FileNotFoundError, NotADirectoryError):
            return ServerSessionState(Status.STARTING)
        except (DecodeError, ValidationError):
            return ServerSessionState(Status.LOST, reason="its state cannot be read")

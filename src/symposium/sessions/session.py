"""An agent session as values, and the store of sessions.

A session is one agent in one directory, held by a process of its own, its keeper. Whoever started
it may go: the keeper stays until the agent ends or is ended (bus-mcp-taskspaces §3.9).
"""

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock
from pathlib import Path
from typing import Final
from uuid import UUID

from msgspec import DecodeError, ValidationError, json

from localio.files import make_private_directory, write_whole
from localio.redaction import agent_secrets
from peerwire.transports.command import CommandError, parse_command
from symposium.config.paths import Paths
from symposium.errors import NotFoundError, SymposiumError


class SessionError(SymposiumError):
    """Something is wrong with an agent session."""


class SessionNotFoundError(SessionError, NotFoundError):
    """There is no session of that id."""


class SessionKind(StrEnum):
    """How an agent is spoken to."""

    TERMINAL = "terminal"
    """A program on a terminal of its own, for people."""

    ACP = "acp"
    """An agent that speaks ACP, and is given prompts."""


class Status(StrEnum):
    """What is known of a session."""

    STARTING = "starting"
    RUNNING = "running"
    EXITED = "exited"
    """The agent has ended by itself, or was ended as somebody asked."""

    LOST = "lost"
    """The keeper has gone without a word: it was killed, or the machine was."""


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """What is to be kept.

    Attributes:
        id: a UUID in lower case; that of the taskspace, where it is one's.
        command: for a terminal the words of the program; for ACP one SPEC.
        cwd: absolute.
        env: set for the agent, beside what the keeper has.
        prompt: said to an ACP agent first; None for nothing.
        mods: SPECs of the chain between the keeper and an ACP agent.
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
    """The secrets among the variables of a session's agent, which no record may show."""
    environment = dict(spec.env)
    for word in spec.command[:1]:
        with suppress(CommandError):
            environment |= parse_command(word).env
    return agent_secrets(environment)


@dataclass(frozen=True, slots=True)
class Login:
    """What an agent wants before it answers.

    Attributes:
        said: the agent's own words.
        lines: the ways to log in, one line each, for people.
        ways: those that the agent goes by itself: id to name.
        chosen: the one to go at the next start; empty for none.
    """

    said: str
    lines: tuple[str, ...] = ()
    ways: Mapping[str, str] = field(default_factory=dict[str, str])
    chosen: str = ""


@dataclass(frozen=True, slots=True)
class ServerSessionState:
    """How it stands; written by the keeper, read by everybody.

    Attributes:
        keeper: its process id.
        exit_code: of the agent, negative for a signal; None while it runs, or unknown.
        reason: why it stands so, for people.
        acp_session: the id that an ACP agent gave; to resume by.
        is_fresh: whether the agent knows nothing of what was said before the last start.
        login: what it wanted when it ended, if a login is all that is missing.
        changed_at: when the last turn ended that changed the worktree, in seconds since 1970; 0 for
            none.
    """

    status: Status
    keeper: int = 0
    exit_code: int | None = None
    reason: str = ""
    acp_session: str | None = None
    is_fresh: bool = False
    login: Login | None = None
    changed_at: float = 0.0


AS_ASKED: Final = "ended as asked"
"""The reason of a session that somebody has ended."""

OF_TASK: Final = "SYMPOSIUM_TASKSPACE"
"""The variable by which the session of a taskspace's agent is known: it has the same id."""

_HINT: Final = "ids are shown by `symposium session list`"


def session_id(text: str) -> str:
    """An id as we write it.

    Raises:
        SessionNotFoundError: it is no UUID, so there is no such session.
    """
    try:
        return str(UUID(text)) if len(text) == len(str(UUID(int=0))) else _refuse(text)
    except ValueError:
        return _refuse(text)


def _refuse(text: str) -> str:
    raise SessionNotFoundError(f"{text[:80]!r} is no id of a session", _HINT)


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

    def state(self, id_: str) -> ServerSessionState:
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

    def write_state(self, id_: str, state: ServerSessionState) -> None:
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

    def _written(self, id_: str) -> ServerSessionState:
        try:
            return json.decode((self.directory(id_) / STATE).read_bytes(), type=ServerSessionState)
        except (FileNotFoundError, NotADirectoryError):
            return ServerSessionState(Status.STARTING)
        except (DecodeError, ValidationError):
            return ServerSessionState(Status.LOST, reason="its state cannot be read")

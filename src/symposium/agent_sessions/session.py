"""What an agent session is; pure values.

A session is one agent in one directory, held by a process of its own, its keeper. Whoever started
it may go: the keeper stays until the agent ends or is ended (bus-mcp-taskspaces §3.9).
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from uuid import UUID

from localio.redaction import agent_secrets
from peerwire.transports.command import CommandError, parse_command
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
class SessionState:
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

"""Start the agents of tasks, with their environment and mods.

The environment is in memory only. After a restart of the daemon, agents get that of the daemon.
"""

import os
import shlex
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from localio.errors import ExplainedError
from localio.jsonc import JsoncError, parse
from localio.redaction import Redactor, secret_values
from peerwire.jsonrpc.values import as_object
from symposium.config.paths import config_file
from symposium.documents.task_prompt import with_own
from symposium.registry.agent_choice import ChosenAgent, choose, choose_here
from symposium.registry.index import RegistryContext
from symposium.sessions.client import AgentSessions, launch, take_environment
from symposium.sessions.session import (
    AS_ASKED,
    OF_TASK,
    ServerSessionState,
    SessionKind,
    SessionNotFoundError,
    SessionSpec,
    SessionStore,
    Status,
    secrets_of,
)
from symposium.tasks.handlers.live_sessions import LiveSessions
from symposium.tasks.model import Taskspace
from symposium.tasks.spawning import BUILT_IN, TERMINAL, agent_command

HOST_VARIABLES: Final = frozenset({"HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME"})
"""Locations of Symposium's own files. These names, and names with the prefixes below, are not
taken from the caller."""

PREFIX: Final = "SYMPOSIUM_"

ELSEWHERE: Final = frozenset(
    {
        *("_", "OLDPWD", "PWD", "SHLVL"),
        *("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX"),
        *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE"),
    }
)
"""Variables of a shell or a git hook, which do not apply where the agent runs."""


_NOTHING: Final[Mapping[str, str]] = {}


class Environments:
    """Environments handed over by callers, by task."""

    def __init__(self) -> None:
        self._lent: dict[str, Mapping[str, str]] = {}

    async def take(self, taskspace: str, path: str | None) -> None:
        """Fetch the environment for a task, if a caller hands one over.

        Raises:
            SessionError: it cannot be received.
        """
        if path is not None:
            self._lent[taskspace] = await take_environment(path)

    def forget(self, taskspace: str) -> None:
        """Drop the environment of a task."""
        self._lent.pop(taskspace, None)

    def lent(self, taskspace: str) -> Mapping[str, str]:
        """The environment handed over for a task; empty if there is no such environment."""
        return self._lent.get(taskspace, _NOTHING)

    def of(self, taskspace: Taskspace) -> dict[str, str]:
        """The environment for the agent of a task; a child gets that of its parent."""
        lent = self._lent.get(taskspace.id)
        if lent is None and taskspace.parent is not None:
            lent = self._lent.get(taskspace.parent)
        if lent is not None:
            self._lent[taskspace.id] = lent
            theirs = {name: value for name, value in lent.items() if not _is_ours(name)}
            ours = {name: value for name, value in os.environ.items() if _is_ours(name)}
            lent = theirs | ours
        found = os.environ if lent is None else lent
        return {name: value for name, value in found.items() if name not in ELSEWHERE}


class TaskSecrets:
    """Redact the secrets of a task's agent in texts about the task.

    Args:
        store: store of sessions.
        environments: the environments of agents.
    """

    def __init__(self, store: SessionStore, environments: Environments) -> None:
        self._store = store
        self._environments = environments
        self._own = secret_values(os.environ)
        self._known: dict[str, _KnownSecrets] = {}

    def redact(self, taskspace: str, text: str) -> str:
        """The text without secret values of the agent of a task."""
        return Redactor(self._secrets(taskspace)).text(text) if text else text

    def _secrets(self, taskspace: str) -> frozenset[str]:
        # An agent logs many lines: its definition is not read for each of them.
        lent, version = self._environments.lent(taskspace), self._store.spec_version(taskspace)
        known = self._known.get(taskspace)
        if known is None or known.lent is not lent or known.version != version:
            secrets = self._own | secret_values(lent)
            # A task can have no agent, or one whose files were deleted.
            with suppress(ExplainedError, OSError, ValueError):
                secrets |= secrets_of(self._store.spec(taskspace))
            known = _KnownSecrets(lent, version, secrets)
            while len(self._known) >= _MAX_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[taskspace] = known
        return known.secrets


_MAX_KNOWN: Final = 100
"""Maximum number of tasks whose secrets are remembered; the first are dropped."""


@dataclass(frozen=True, slots=True)
class _KnownSecrets:
    """Secrets of a task, and where they come from."""

    lent: Mapping[str, str]
    version: tuple[int, ...]
    secrets: frozenset[str]


def _is_ours(name: str) -> bool:
    return name in HOST_VARIABLES or name.startswith(PREFIX)


_TIMELINE: Final = "timeline"


def task_mods(config: Path) -> tuple[str, ...]:
    """The timeline mod, which lets another agent continue; unless the user's config excludes it."""
    try:
        root: Any = parse(config.read_text(encoding="utf-8")).value
    except (OSError, UnicodeDecodeError, JsoncError):
        # The user sees the error of the file when an agent starts.
        return (_TIMELINE,)
    members = as_object(root)
    match members.get("tasks"):
        case {"timeline": False}:
            return ()
        case _:
            return (_TIMELINE,)


_NEVER_BEGAN: Final = (126, 127)
"""Exit codes of a program that cannot run, or does not exist (POSIX, `Exit Status`)."""


class TaskAgents:
    """Start and stop agents for the engine.

    Args:
        store: store of sessions.
        registry: finds agents by id.
        live: the running sessions.
        socket: the daemon's socket.

    Attributes:
        environments: the environments of agents.
    """

    def __init__(
        self,
        store: SessionStore,
        registry: RegistryContext,
        live: LiveSessions,
        socket: Path,
    ) -> None:
        self.environments = Environments()
        # An agent with another HOME must find this daemon, and not start a second one.
        self._host = {"SYMPOSIUM_HOME": str(registry.home), "SYMPOSIUM_SOCKET": str(socket)}
        self._store = store
        self._sessions = AgentSessions(store)
        self._registry = registry
        self._live = live

    async def chosen(self, written: str | None) -> ChosenAgent | None:
        """The agent that the user named; None for no agent.

        Raises:
            ExplainedError: the agent is unknown or not available.
        """
        if written is None or written in BUILT_IN or written.startswith(TERMINAL):
            return None if written is None else ChosenAgent(written)
        return await choose(written, self._registry)

    async def chosen_here(self, written: str | None) -> str | None:
        """The agent that another agent named; None if it named none.

        Raises:
            ExplainedError: no agent on this machine has this id.
        """
        if written is None or written in BUILT_IN:
            return written
        return (await choose_here(written, self._registry)).spec

    async def start(self, taskspace: Taskspace, env: Mapping[str, str]) -> None:
        """Start the agent of the task, or resume its session; does nothing without an agent.

        Raises:
            SessionError: it cannot be started.
        """
        spec = session_of(taskspace, {**env, **self._host})
        if spec is not None and not self._store.is_kept(taskspace.id):
            await launch(self._store, spec, self.environment(taskspace))
            self._live.changed(taskspace.id, "started")

    def environment(self, taskspace: Taskspace) -> Mapping[str, str]:
        """The environment of the caller that started it, or else of the daemon."""
        return self.environments.of(taskspace)

    async def stop(self, taskspace: str) -> None:
        """Stop the agent and all its processes, if it runs.

        Raises:
            SessionError: it does not stop.
        """
        await self._sessions.stop(taskspace)

    def has_worked(self, taskspace: str) -> bool:
        """Whether an ACP agent has had a session here, which another agent cannot continue."""
        is_known = self.status(taskspace) is not None
        return is_known and self._store.state(taskspace).acp_session is not None

    def forget(self, taskspace: str) -> None:
        """Delete the session of an exited agent, so that another can start.

        Raises:
            SessionError: it still runs.
        """
        if self.status(taskspace) is not None:
            self._store.forget(taskspace)

    def leftovers(self, known: Collection[str]) -> list[SessionSpec]:
        """Ended sessions of tasks that no longer exist."""
        specs = [self._store.spec(each) for each in self._store.ids()]
        theirs = [each for each in specs if each.env.get(OF_TASK) == each.id]
        return [
            each for each in theirs if each.id not in known and not self._store.is_kept(each.id)
        ]

    def is_running(self, taskspace: str) -> bool | None:
        """Whether the agent runs."""
        return self._sessions.is_running(taskspace)

    async def idle_process(self, taskspace: str) -> int | None:
        """Its session server, if it runs and has finished its prompts; None for a terminal."""
        known = (await self._live.of([taskspace])).get(taskspace)
        is_idle = known is not None and known.is_idle
        return self._store.state(taskspace).server_pid if is_idle else None

    def status(self, taskspace: str) -> Status | None:
        """Status of its session; None without a session."""
        try:
            self._store.spec(taskspace)
        except SessionNotFoundError:
            return None
        return self._store.state(taskspace).status

    def has_terminal(self, taskspace: str) -> bool:
        """Whether it has its own terminal, whose activity is unknown."""
        is_known = self.status(taskspace) is not None
        return is_known and self._store.spec(taskspace).kind is SessionKind.TERMINAL

    def wants_login(self, taskspace: str) -> bool:
        """Whether it exited because it needs a login."""
        state = self._store.state(taskspace)
        return state.login is not None and bool(why_ended(state))

    def why_ended(self, taskspace: str) -> str:
        """Reason of an unexpected exit; empty if it runs or has no agent."""
        return why_ended(self._store.state(taskspace)) if self.status(taskspace) else ""


def why_ended(state: ServerSessionState) -> str:
    """Reason why an agent could not start or keep running; empty if the user has seen it.

    The user of a terminal has seen the program exit, unless it never started.
    """
    if state.status is not Status.EXITED or state.reason == AS_ASKED:
        return ""
    return state.reason if state.exit_code in {None, *_NEVER_BEGAN} else ""


def session_of(taskspace: Taskspace, env: Mapping[str, str]) -> SessionSpec | None:
    """The session of its agent; None without an agent."""
    agent = taskspace.agent
    if agent is None:
        return None
    if agent in BUILT_IN:
        kind, command = SessionKind.TERMINAL, agent_command(taskspace)
    elif agent.startswith(TERMINAL):
        kind, command = SessionKind.TERMINAL, tuple(shlex.split(agent.removeprefix(TERMINAL)))
    else:
        kind, command = SessionKind.ACP, (agent,)
    return SessionSpec(
        id=taskspace.id,
        kind=kind,
        command=command,
        cwd=taskspace.worktree,
        env=env,
        prompt=first_prompt(taskspace, env) if kind is SessionKind.ACP else None,
        mods=task_mods(config_file(None)) if kind is SessionKind.ACP else (),
        title=taskspace.name,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def first_prompt(taskspace: Taskspace, env: Mapping[str, str]) -> str | None:
    """First prompt of an ACP agent: its task and its own resources (users B-4)."""
    task = taskspace.initial_prompt
    if task is None:
        return None
    own: list[str] = []
    ports = [int(env[name]) for name in env if name.startswith("SYMPOSIUM_PORT")]
    if ports:
        named = ", ".join(map(str, sorted(ports)))
        own.append(f"the ports {named} (SYMPOSIUM_PORT, SYMPOSIUM_PORT_1, …)")
    if (compose := env.get("COMPOSE_PROJECT_NAME")) is not None:
        own.append(f"the name {compose} for containers (COMPOSE_PROJECT_NAME)")
    return with_own(task, own)

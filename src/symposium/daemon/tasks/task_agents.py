"""The agents of taskspaces: each is an agent session with the taskspace's id."""

import shlex
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from symposium.agent_sessions.keeper_client import AgentSessions
from symposium.agent_sessions.launch import launch
from symposium.agent_sessions.session import (
    AS_ASKED,
    OF_TASK,
    SessionKind,
    SessionNotFoundError,
    SessionSpec,
    SessionState,
    Status,
)
from symposium.agent_sessions.store import SessionStore
from symposium.config.paths import config_file
from symposium.daemon.tasks.environments import Environments
from symposium.daemon.tasks.live_sessions import LiveSessions
from symposium.daemon.tasks.task_mods import task_mods
from symposium.documents.task_prompt import with_own
from symposium.registry.agent_choice import Chosen, choose, choose_here
from symposium.registry.index import Surroundings
from symposium.taskspaces.agent_commands import BUILT_IN, TERMINAL, agent_command
from symposium.taskspaces.model import Taskspace

_NEVER_BEGAN: Final = (126, 127)
"""Exit codes of a program that cannot be run, or is not there (POSIX, `Exit Status`)."""


class TaskAgents:
    """Starts and stops them for the engine.

    Args:
        store: where sessions are.
        around: where agents are found by their ids.
        live: the sessions that run.
        socket: where the daemon listens.

    Attributes:
        environments: what they are started with.
    """

    def __init__(
        self,
        store: SessionStore,
        around: Surroundings,
        live: LiveSessions,
        socket: Path,
    ) -> None:
        self.environments = Environments()
        # An agent with another HOME must find this daemon, and start no second one.
        self._host = {"SYMPOSIUM_HOME": str(around.home), "SYMPOSIUM_SOCKET": str(socket)}
        self._store = store
        self._sessions = AgentSessions(store)
        self._around = around
        self._live = live

    async def chosen(self, written: str | None) -> Chosen | None:
        """The agent that a person means; None for no agent.

        Raises:
            ExplainedError: nobody is called so, or the agent cannot be had.
        """
        if written is None or written in BUILT_IN or written.startswith(TERMINAL):
            return None if written is None else Chosen(written)
        return await choose(written, self._around)

    async def chosen_here(self, written: str | None) -> str | None:
        """The agent that another agent means; None where that has named none.

        Raises:
            ExplainedError: no agent that is here has this id.
        """
        if written is None or written in BUILT_IN:
            return written
        return (await choose_here(written, self._around)).spec

    async def start(self, taskspace: Taskspace, env: Mapping[str, str]) -> None:
        """Start the taskspace's agent, or go on with its session; nothing where it has none.

        Raises:
            SessionError: it cannot be started.
        """
        spec = session_of(taskspace, {**env, **self._host})
        if spec is not None and not self._store.is_kept(taskspace.id):
            await launch(self._store, spec, self.environment(taskspace))
            self._live.changed(taskspace.id, "started")

    def environment(self, taskspace: Taskspace) -> Mapping[str, str]:
        """What who started it has, or else we."""
        return self.environments.of(taskspace)

    async def stop(self, taskspace: str) -> None:
        """End the agent and all that it has started, if it runs.

        Raises:
            SessionError: it does not end.
        """
        await self._sessions.stop(taskspace)

    def has_worked(self, taskspace: str) -> bool:
        """Whether an agent that speaks ACP has had a session here, which another cannot go on."""
        is_known = self.status(taskspace) is not None
        return is_known and self._store.state(taskspace).acp_session is not None

    def forget(self, taskspace: str) -> None:
        """Remove what is kept of an agent that has ended, for another to begin.

        Raises:
            SessionError: it has not.
        """
        if self.status(taskspace) is not None:
            self._store.forget(taskspace)

    def leftovers(self, known: Collection[str]) -> list[SessionSpec]:
        """Sessions of tasks that are none of these any more, and whose agents have ended."""
        specs = [self._store.spec(each) for each in self._store.ids()]
        theirs = [each for each in specs if each.env.get(OF_TASK) == each.id]
        return [
            each for each in theirs if each.id not in known and not self._store.is_kept(each.id)
        ]

    def is_running(self, taskspace: str) -> bool | None:
        """Whether it runs."""
        return self._sessions.is_running(taskspace)

    async def idle_process(self, taskspace: str) -> int | None:
        """Its session server, if it runs and has done all it was asked; None for a terminal."""
        known = (await self._live.of([taskspace])).get(taskspace)
        is_idle = known is not None and known.is_idle
        return self._store.state(taskspace).keeper if is_idle else None

    def status(self, taskspace: str) -> Status | None:
        """How its session stands; None where there was none."""
        try:
            self._store.spec(taskspace)
        except SessionNotFoundError:
            return None
        return self._store.state(taskspace).status

    def has_terminal(self, taskspace: str) -> bool:
        """Whether it has a terminal of its own: what it does there is not known."""
        is_known = self.status(taskspace) is not None
        return is_known and self._store.spec(taskspace).kind is SessionKind.TERMINAL

    def wants_login(self, taskspace: str) -> bool:
        """Whether it has ended since it wants a login before it answers."""
        state = self._store.state(taskspace)
        return state.login is not None and bool(why_ended(state))

    def why_ended(self, taskspace: str) -> str:
        """Why it ended although nobody has asked; empty where it runs, or has none."""
        return why_ended(self._store.state(taskspace)) if self.status(taskspace) else ""


def why_ended(state: SessionState) -> str:
    """Why an agent could not be started or kept alive; empty where nobody needs to be told.

    A program on a terminal has ended in sight of whoever used it, unless it never began.
    """
    if state.status is not Status.EXITED or state.reason == AS_ASKED:
        return ""
    return state.reason if state.exit_code in {None, *_NEVER_BEGAN} else ""


def session_of(taskspace: Taskspace, env: Mapping[str, str]) -> SessionSpec | None:
    """The session that its agent runs in; None where it has no agent."""
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
    """What an agent that speaks ACP is told first: its task, and what is its own (users B-4)."""
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

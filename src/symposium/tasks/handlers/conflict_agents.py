"""Agents that resolve conflicts: prompts for them, and restarts."""

from collections.abc import Sequence
from contextlib import suppress

from symposium.sessions.client import SAY, reach
from symposium.sessions.session import SessionKind, SessionNotFoundError, SessionStore
from symposium.tasks.conflict_resolutions import Resolution
from symposium.tasks.engine import Engine
from symposium.tasks.handlers.live_sessions import LiveSessions, SessionServers
from symposium.tasks.model import Taskspace, TaskspaceError


class ResolvingAgents:
    """Prompts the agents, and reports when they are done.

    Args:
        engine: the taskspaces.
        store: the sessions of their agents.
        live: the running sessions of their agents.
    """

    def __init__(self, engine: Engine, store: SessionStore, live: LiveSessions) -> None:
        self._engine = engine
        self._store = store
        self._live = live
        self._servers = SessionServers(store)

    def check(self, taskspace: Taskspace) -> None:
        """Refuse a task whose agent cannot get a prompt.

        Raises:
            TaskspaceError: it has no agent, or one with its own terminal.
        """
        id_ = taskspace.id
        by_hand = "resolve the conflicts yourself, then land again"
        if taskspace.agent is None:
            give = f"`symposium task resume {id_[:8]} --agent AGENT` gives it one"
            raise TaskspaceError(f"{taskspace.name!r} has no agent", f"{give}; or {by_hand}")
        with suppress(SessionNotFoundError):
            if self._store.spec(id_).kind is not SessionKind.ACP:
                text = f"the agent of {taskspace.name!r} has its own terminal and takes no prompts"
                raise TaskspaceError(text, by_hand)

    async def prompt(self, resolution: Resolution) -> None:
        """Prompt the agent; restarts it if it has exited.

        Raises:
            ExplainedError: it cannot be started, or takes no prompts.
        """
        id_ = resolution.taskspace
        taskspace = await self._engine.get(id_)
        checks = (await self._engine.recipe(id_)).all_of("check")
        if not self._store.is_kept(id_):
            await self._engine.resume(id_)
        async with reach(self._store, id_) as server:
            await server.ask(SAY, {"text": prompt_for(taskspace.branch, resolution, checks)})
        self._live.changed(id_, "prompted")

    async def is_done(self, id_: str) -> bool:
        """Whether the agent has finished all its prompts, or has exited."""
        # Ask the server: the cached state may be from before the prompt.
        now = await self._servers.now(id_)
        return now.is_idle or not self._store.is_kept(id_)


def prompt_for(branch: str, resolution: Resolution, checks: Sequence[str]) -> str:
    """The prompt that lets an agent resolve the conflicts of its branch with its base."""
    base, commit = resolution.base, resolution.onto[:12]
    found = [f"- {each}" for each in resolution.conflicts]
    run = "".join(f"\n   - `{each}`" for each in checks)
    before = [f"The last attempt did not succeed: {resolution.reason}.", *resolution.lines, ""]
    return "\n".join(
        [
            f"Your branch {branch} conflicts with {base}: both changed the same lines.",
            "",
            *(before if resolution.reason else []),
            f"Files in conflict with {base} (commit {commit}), with the lines of your branch:",
            *(found or ["- unknown; git shows them"]),
            "",
            "Do this in this worktree:",
            f"1. Run `git {resolution.options.join} {commit}`.",
            "2. Resolve each conflict. Keep the intent of both sides.",
            f"3. Run the checks of the project, and fix what fails.{run}",
            "4. Commit everything. `git status` must be clean, and no rebase or merge unfinished.",
            "",
            f"Do not push, and do not change {base}. The user reviews the result and decides",
            "whether it lands. Then end your turn.",
        ]
    )

"""What the agents of tasks do now, asked of all session servers at once.

A session server that hangs costs each list one timeout, however many hang, and the list shows since
when there is no answer.
"""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from symposium.agent_sessions.keeper_client import DESCRIBE, NoAnswerError, reach
from symposium.agent_sessions.session import SessionError, SessionKind
from symposium.agent_sessions.store import SessionStore

FIRST_TIMEOUT: Final = 2.0
"""Seconds that a session server has for its answer."""

NEXT_TIMEOUT: Final = 0.2
"""Seconds that it has once it did not answer: most that hang go on hanging."""

AT_ONCE: Final = 64
"""Session servers that are asked at the same time."""


@dataclass(frozen=True, slots=True)
class AgentNow:
    """What one agent does.

    Attributes:
        questions: the permissions that it waits for, as its session server lists them.
        is_idle: whether it runs and has done all that it was told; unknown of a terminal.
        announces: whether the server can announce what happens on the bus.
        seq: number of the last event of the session; -1 where it is unknown.
        no_answer_since: since when its session server has not answered, ISO 8601 in UTC; empty
            while it answers.
    """

    questions: tuple[Mapping[str, Any], ...] = ()
    is_idle: bool = False
    announces: bool = False
    seq: int = -1
    no_answer_since: str = ""


NOTHING: Final = AgentNow()
"""Of an agent that does not run, or that has a terminal of its own."""


class SessionServers:
    """Asks them, and knows which did not answer.

    Args:
        store: where sessions are.
        timeout: seconds that one has for its answer.
    """

    def __init__(self, store: SessionStore, timeout: float = FIRST_TIMEOUT) -> None:
        self._store = store
        self._timeout = timeout
        self._silent: dict[str, str] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def now(self, taskspace: str) -> AgentNow:
        """What the agent of one taskspace does."""
        if not self._store.is_kept(taskspace):
            self._silent.pop(taskspace, None)
            return NOTHING
        async with self._turns:
            return await self._ask(taskspace)

    async def all(self, taskspaces: Collection[str]) -> dict[str, AgentNow]:
        """What the agents of these taskspaces do; all are asked at once."""
        async with asyncio.TaskGroup() as tasks:
            asked = {each: tasks.create_task(self.now(each)) for each in taskspaces}
        return {each: task.result() for each, task in asked.items()}

    async def _ask(self, taskspace: str) -> AgentNow:
        timeout = min(self._timeout, NEXT_TIMEOUT) if taskspace in self._silent else self._timeout
        try:
            if self._store.spec(taskspace).kind is not SessionKind.ACP:
                return NOTHING
            async with reach(self._store, taskspace) as server:
                now = await server.ask(DESCRIBE, timeout=timeout)
        except NoAnswerError:
            since = datetime.now(UTC).isoformat(timespec="milliseconds")
            return AgentNow(no_answer_since=self._silent.setdefault(taskspace, since))
        except SessionError:
            # It has just ended, or has only begun.
            return NOTHING
        self._silent.pop(taskspace, None)
        has_session = now.get("acpSession") is not None
        is_idle = has_session and not now.get("working") and not now.get("waiting")
        questions, announces = tuple(now.get("questions", ())), now.get("announces") is True
        return AgentNow(questions, is_idle, announces, int(now.get("seq", -1)))

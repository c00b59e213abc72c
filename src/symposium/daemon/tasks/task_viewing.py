"""Views of tasks: what the store, their sessions, and their budgets say, read together."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from symposium.agent_sessions.session import Status
from symposium.bus.messages.tasks import TaskView
from symposium.daemon.tasks.budgets import Budgets
from symposium.daemon.tasks.live_sessions import LiveSessions
from symposium.daemon.tasks.radar_watch import RadarWatch
from symposium.daemon.tasks.session_servers import NOTHING, AgentNow
from symposium.daemon.tasks.task_agents import TaskAgents
from symposium.daemon.tasks.task_views import Now, task_view
from symposium.taskspaces.engine import Engine
from symposium.taskspaces.landing.landed import is_landed
from symposium.taskspaces.log_book import LogSummary
from symposium.taskspaces.model import Taskspace

MAX_LOOKS: Final = 4
"""Worktrees of landed tasks that git looks at at the same time."""


class TaskViewing:
    """Makes views.

    Args:
        engine: the tasks.
        agents: their agents.
        live: their running sessions.
        radar: who changes the same lines.
        budgets: what is spent.
    """

    def __init__(
        self,
        engine: Engine,
        agents: TaskAgents,
        live: LiveSessions,
        radar: RadarWatch,
        budgets: Budgets,
    ) -> None:
        self._engine = engine
        self._agents = agents
        self._live = live
        self._radar = radar
        self._budgets = budgets
        self._looks = asyncio.Semaphore(MAX_LOOKS)

    async def view(self, taskspace: Taskspace) -> TaskView:
        """One task.

        Raises:
            UnknownTaskspaceError: it is gone.
        """
        await self._engine.get(taskspace.id)
        return (await self.views([taskspace]))[0]

    async def views(self, found: Sequence[Taskspace]) -> list[TaskView]:
        """Several tasks, without those that are gone since they were looked up."""
        ids = [each.id for each in found]
        logs = await self._engine.logs.summaries(ids)
        live = await self._live.of(ids)
        landed = await self._landed(found, live)
        return [
            await self._view(each, logs[each.id], live.get(each.id), is_landed=each.id in landed)
            for each in found
            if each.id in logs
        ]

    async def _view(
        self, taskspace: Taskspace, log: LogSummary, live: AgentNow | None, *, is_landed: bool
    ) -> TaskView:
        id_, known = taskspace.id, live or NOTHING
        session = self._agents.status(id_)
        spent, reckoning = self._budgets.spent(id_), None
        if taskspace.archived_at is None:
            reckoning = await self._budgets.reckoning(taskspace)
        now = Now(
            asks=bool(known.questions),
            is_paused=reckoning is not None and reckoning.is_over,
            spent=reckoning.text if reckoning is not None else spent.text if spent.turns else "",
            costs=spent.costs,
            conflicts=self._radar.lines(id_),
            is_idle=known.is_idle,
            is_landed=is_landed,
            ended=self._agents.why_ended(id_),
            wants_login=session is not None and self._agents.wants_login(id_),
            no_answer_since=known.no_answer_since,
        )
        return task_view(taskspace, log, session, now)

    async def _landed(self, found: Sequence[Taskspace], live: Mapping[str, AgentNow]) -> set[str]:
        """Those of which all has landed, and whose agent is not known to be at work again."""
        landed: set[str] = set()

        async def look(taskspace: Taskspace) -> None:
            async with self._looks:
                if await is_landed(taskspace):
                    landed.add(taskspace.id)

        async with asyncio.TaskGroup() as tasks:
            for each in found:
                if each.landed and self._is_quiet(each.id, live.get(each.id)):
                    tasks.create_task(look(each))
        return landed

    def _is_quiet(self, id_: str, live: AgentNow | None) -> bool:
        is_running = self._agents.status(id_) is Status.RUNNING
        is_idle = live is not None and live.is_idle
        return not is_running or is_idle or self._agents.has_terminal(id_)

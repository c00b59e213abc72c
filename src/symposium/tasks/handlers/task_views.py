"""Views of tasks, combined from the store, sessions, and budgets."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from localio.text import minute_of
from symposium.bus.activity_words import Activity
from symposium.bus.messages.tasks import SnapshotView, TaskLog, TaskView
from symposium.catalog import agent_label
from symposium.sessions.session import Status
from symposium.tasks.engine import Engine
from symposium.tasks.handlers.approvals import Budgets
from symposium.tasks.handlers.live_sessions import NO_AGENT, AgentNow, LiveSessions
from symposium.tasks.handlers.overlap_watch import OverlapWatcher
from symposium.tasks.handlers.task_agents import TaskAgents
from symposium.tasks.model import LogEntry, Taskspace, TaskState
from symposium.tasks.repository import is_landed
from symposium.tasks.setup import UNTRUSTED, reason_text
from symposium.tasks.snapshots.snapshot_values import Snapshot
from symposium.tasks.tables import LogSummary

_STATES = {
    TaskState.CREATING: Activity.SETTING_UP,
    TaskState.SETUP_FAILED: Activity.SETUP_FAILED,
    TaskState.FINISHED: Activity.FINISHED,
    TaskState.DELETING: Activity.DELETING,
    TaskState.ARCHIVED: Activity.ARCHIVED,
    TaskState.MISSING: Activity.MISSING,
}

_SESSIONS = {
    Status.RUNNING: Activity.WORKING,
    Status.STARTING: Activity.WORKING,
    Status.LOST: Activity.LOST,
    Status.EXITED: Activity.AGENT_ENDED,
    None: Activity.READY,
}


@dataclass(frozen=True, slots=True)
class Now:
    """Current state of a task that is not stored.

    Attributes:
        asks: whether its agent waits for a permission.
        is_paused: whether its budget is spent.
        spent: its spending, for the user.
        costs: the costs that its agent has reported, by currency.
        conflicts: places where it changes the same lines as others.
        is_idle: whether its agent has finished its prompts.
        ended: reason of an unexpected exit of its agent.
        wants_login: whether its agent exited and only needs a login.
        no_answer_since: since when its session server has not answered; empty while it does.
        is_landed: whether all of it has landed, and its agent is not known to work again.
    """

    asks: bool = False
    is_paused: bool = False
    spent: str = ""
    costs: Mapping[str, float] = field(default_factory=dict[str, float])
    conflicts: tuple[str, ...] = ()
    is_idle: bool = False
    ended: str = ""
    wants_login: bool = False
    no_answer_since: str = ""
    is_landed: bool = False


QUIET: Final = Now()


def log_view(entry: LogEntry) -> TaskLog:
    """View of one line of progress."""
    return TaskLog(
        entry.number,
        entry.at,
        entry.category.value,
        entry.message,
        entry.evidence,
        entry.acknowledged_at,
    )


def task_view(
    taskspace: Taskspace,
    log: LogSummary,
    session: Status | None,
    now: Now = QUIET,
) -> TaskView:
    """View of a task for a list.

    Args:
        taskspace: the task.
        log: the end of its log.
        session: status of its agent's session; None without a session.
        now: its current state.
    """
    return TaskView(
        id=taskspace.id,
        name=taskspace.name,
        description=taskspace.description,
        project=taskspace.project,
        worktree=taskspace.worktree,
        branch=taskspace.branch,
        base=taskspace.base,
        standing=taskspace.standing.value,
        state=_state(taskspace, session, log.waiting, now),
        created_at=taskspace.created_at,
        activated_at=taskspace.activated_at,
        reason=reason_text(taskspace.reason) or now.ended,
        agent=None if taskspace.agent is None else agent_label(taskspace.agent),
        session=None if session is None else session.value,
        collaborator=taskspace.collaborator,
        parent=taskspace.parent,
        ports=None if taskspace.ports is None else (taskspace.ports.first, taskspace.ports.count),
        waiting=log.waiting,
        last=None if log.last is None else log_view(log.last),
        archived_at=taskspace.archived_at,
        conflicts=now.conflicts,
        spent=now.spent,
        costs=dict(now.costs),
        landed=taskspace.landed,
        landed_at=taskspace.landed_at,
    )


def snapshot_view(snapshot: Snapshot) -> SnapshotView:
    """View of a state that can be restored."""
    return SnapshotView(snapshot.ref, snapshot.at, snapshot.reason, snapshot.tree, snapshot.tip)


def _state(taskspace: Taskspace, session: Status | None, waiting: int, now: Now) -> str:
    """The state, as far as known: the agent of a lost session has not finished."""
    is_finished = taskspace.standing is TaskState.FINISHED
    if taskspace.standing in _STATES and not (is_finished and now.is_landed):
        return _STATES[taskspace.standing]
    is_running = session is Status.RUNNING
    silence = f"{Activity.NO_ANSWER} {minute_of(now.no_answer_since)}"
    words = (
        (bool(now.no_answer_since) and is_running, silence),
        (now.is_paused and is_running, Activity.OVER_BUDGET),
        (UNTRUSTED in taskspace.reason, Activity.ASKS_TRUST),
        (now.asks, Activity.ASKS_APPROVAL),
        (waiting > 0, Activity.ASKS_QUESTION),
        (now.wants_login, Activity.NEEDS_LOGIN),
        (now.is_landed, Activity.LANDED),
        (now.is_idle and is_running, Activity.IDLE),
    )
    return next((word for holds, word in words if holds), _SESSIONS[session])


MAX_LOOKS: Final = 4
"""Maximum number of landed worktrees that git checks at the same time."""


class TaskViewing:
    """Make views of tasks.

    Args:
        engine: the tasks.
        agents: their agents.
        live: their running sessions.
        overlaps: finds tasks that change the same lines.
        budgets: spending of agents.
    """

    def __init__(
        self,
        engine: Engine,
        agents: TaskAgents,
        live: LiveSessions,
        overlaps: OverlapWatcher,
        budgets: Budgets,
    ) -> None:
        self._engine = engine
        self._agents = agents
        self._live = live
        self._overlaps = overlaps
        self._budgets = budgets
        self._looks = asyncio.Semaphore(MAX_LOOKS)

    async def view(self, taskspace: Taskspace) -> TaskView:
        """View of one task.

        Raises:
            UnknownTaskspaceError: it was deleted.
        """
        await self._engine.get(taskspace.id)
        return (await self.views([taskspace]))[0]

    async def views(self, found: Sequence[Taskspace]) -> list[TaskView]:
        """Views of several tasks, without deleted ones."""
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
        id_, known = taskspace.id, live or NO_AGENT
        session = self._agents.status(id_)
        spent, reckoning = self._budgets.spent(id_), None
        if taskspace.archived_at is None:
            reckoning = await self._budgets.reckoning(taskspace)
        now = Now(
            asks=bool(known.questions),
            is_paused=reckoning is not None and reckoning.is_over,
            spent=reckoning.text if reckoning is not None else spent.text if spent.turns else "",
            costs=spent.costs,
            conflicts=self._overlaps.lines(id_),
            is_idle=known.is_idle,
            is_landed=is_landed,
            ended=self._agents.why_ended(id_),
            wants_login=session is not None and self._agents.wants_login(id_),
            no_answer_since=known.no_answer_since,
        )
        return task_view(taskspace, log, session, now)

    async def _landed(self, found: Sequence[Taskspace], live: Mapping[str, AgentNow]) -> set[str]:
        """The tasks that have landed completely, and whose agent is not known to work again."""
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

"""What people are shown of a taskspace, in the words of users §8.5."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from localio.text import minute_of
from symposium.agent_sessions.session import Status
from symposium.bus.messages.tasks import SnapshotView, TaskLog, TaskView
from symposium.catalog import agent_label
from symposium.taskspaces.log_book import LogSummary
from symposium.taskspaces.model import LogEntry, Standing, Taskspace
from symposium.taskspaces.setting_up import UNTRUSTED
from symposium.taskspaces.snapshots.state import Snapshot

_STATES = {
    Standing.CREATING: "setting up",
    Standing.SETUP_FAILED: "setup failed",
    Standing.FINISHED: "finished (unreviewed)",
    Standing.DELETING: "deleting",
    Standing.ARCHIVED: "archived",
    Standing.MISSING: "missing",
}

_SESSIONS = {
    Status.RUNNING: "working",
    Status.STARTING: "working",
    Status.LOST: "lost contact",
    Status.EXITED: "agent ended",
    None: "ready",
}


@dataclass(frozen=True, slots=True)
class Now:
    """What is known of a taskspace at this moment, and written down nowhere.

    Attributes:
        asks: whether its agent waits for a permission.
        is_paused: whether its budget is spent.
        spent: what it has spent, for people.
        costs: what its agent has told that it cost, by currency.
        conflicts: where it changes the same lines as others.
        is_idle: whether its agent has done all that it was told.
        ended: why its agent has ended, where nobody has asked for that.
        wants_login: whether its agent has ended, and only a login is missing.
        no_answer_since: since when its session server has not answered; empty while it does.
        is_landed: whether all of it has landed, and its agent is not known to be at work again.
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
    """One line of progress."""
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
    """A taskspace as a list shows it.

    Args:
        taskspace: which.
        log: the end of its log.
        session: how its agent's session stands; None where there was none.
        now: what else is known at this moment.
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
        reason=taskspace.reason or now.ended,
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
    """A state that can be brought back."""
    return SnapshotView(snapshot.ref, snapshot.at, snapshot.reason, snapshot.tree, snapshot.tip)


def _state(taskspace: Taskspace, session: Status | None, waiting: int, now: Now) -> str:
    """What is known, and nothing that is not: an agent that was lost has not finished."""
    is_finished = taskspace.standing is Standing.FINISHED
    if taskspace.standing in _STATES and not (is_finished and now.is_landed):
        return _STATES[taskspace.standing]
    is_running = session is Status.RUNNING
    silence = f"no answer since {minute_of(now.no_answer_since)}"
    words = (
        (bool(now.no_answer_since) and is_running, silence),
        (now.is_paused and is_running, "paused: budget"),
        (UNTRUSTED in taskspace.reason, "waiting: trust"),
        (now.asks, "waiting: approval"),
        (waiting > 0, "waiting: question"),
        (now.wants_login, "waiting: login"),
        (now.is_landed, "landed"),
        (now.is_idle and is_running, "idle"),
    )
    return next((word for holds, word in words if holds), _SESSIONS[session])

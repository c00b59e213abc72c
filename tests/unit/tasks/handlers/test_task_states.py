"""Task states in lists, and the reason why an agent ended."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.task_harness import Scene
from tests.support.task_views import serve

from localio.text import minute_of
from symposium.bus.messages.tasks import TaskLog, TaskView
from symposium.config.paths import paths
from symposium.sessions.session import (
    AS_ASKED,
    ServerSessionState,
    SessionKind,
    SessionSpec,
    SessionStore,
    Status,
)
from symposium.tasks.handlers.live_sessions import AgentNow, LiveSessions
from symposium.tasks.handlers.task_agents import why_ended
from symposium.tasks.handlers.task_views import QUIET, Now, task_view
from symposium.tasks.land import LandOptions
from symposium.tasks.model import Category, Layout, LogEntry, Ports, Taskspace, TaskState
from symposium.tasks.setup import DECLINED, UNTRUSTED, reason_text
from symposium.tasks.tables import LogSummary

READY = Taskspace(
    "t", "/p", Layout.BESIDE, "name", "/w", "b", "2026-01-01T00:00:00Z", standing=TaskState.READY
)
UNASKED = replace(READY, reason=f"set up: {UNTRUSTED}")
SINCE = "2026-01-01T00:00:00+00:00"

ALL = Now(
    asks=True,
    is_paused=True,
    is_idle=True,
    ended="it crashed",
    wants_login=True,
    no_answer_since=SINCE,
    is_landed=True,
)


def state(taskspace: Taskspace, session: Status | None, now: Now = QUIET, waiting: int = 0) -> str:
    return task_view(taskspace, LogSummary(None, waiting), session, now).state


@pytest.mark.requirement("tasks.state-words")
@pytest.mark.parametrize(
    ("session", "word"),
    [
        (None, "ready"),
        (Status.STARTING, "working"),
        (Status.RUNNING, "working"),
        (Status.LOST, "lost contact"),
        (Status.EXITED, "agent ended"),
    ],
)
def test_task_state_follows_its_session_by_default(session: Status | None, word: str) -> None:
    assert state(READY, session) == word


@pytest.mark.requirement("tasks.state-words")
@pytest.mark.parametrize(
    ("standing", "word"),
    [
        (TaskState.CREATING, "setting up"),
        (TaskState.SETUP_FAILED, "setup failed"),
        (TaskState.FINISHED, "finished (unreviewed)"),
        (TaskState.DELETING, "deleting"),
        (TaskState.ARCHIVED, "archived"),
        (TaskState.MISSING, "missing"),
    ],
)
def test_state_of_a_task_that_is_not_ready_ignores_its_agent(
    standing: TaskState, word: str
) -> None:
    busy = replace(ALL, is_landed=False)
    assert state(replace(UNASKED, standing=standing), Status.RUNNING, busy, 1) == word


@pytest.mark.requirement("tasks.state-words")
def test_urgent_states_come_first_while_the_agent_runs() -> None:
    silence = f"no answer since {minute_of(SINCE)}"
    now, waiting, task = ALL, 1, UNASKED
    seen = [state(task, Status.RUNNING, now, waiting)]
    now = replace(now, no_answer_since="")
    seen.append(state(task, Status.RUNNING, now, waiting))
    now = replace(now, is_paused=False)
    seen.append(state(task, Status.RUNNING, now, waiting))
    task = READY
    seen.append(state(task, Status.RUNNING, now, waiting))
    now = replace(now, asks=False)
    seen.append(state(task, Status.RUNNING, now, waiting))
    seen.append(state(task, Status.RUNNING, now))
    now = replace(now, wants_login=False)
    seen.append(state(task, Status.RUNNING, now))
    now = replace(now, is_landed=False)
    seen.append(state(task, Status.RUNNING, now))

    assert seen == [
        silence,
        "paused: budget",
        "waiting: trust",
        "waiting: approval",
        "waiting: question",
        "waiting: login",
        "landed",
        "idle",
    ]


@pytest.mark.requirement("tasks.state-words")
@pytest.mark.parametrize("session", [None, Status.STARTING, Status.LOST, Status.EXITED])
@pytest.mark.parametrize(
    "now", [Now(no_answer_since=SINCE), Now(is_paused=True), Now(is_idle=True)]
)
def test_agent_that_does_not_run_is_not_silent_paused_or_idle(
    session: Status | None, now: Now
) -> None:
    assert state(READY, session, now) == state(READY, session)


@pytest.mark.requirement("tasks.state-words")
def test_finished_and_landed_task_is_landed() -> None:
    finished = replace(READY, standing=TaskState.FINISHED)
    assert state(finished, None, Now(is_landed=True)) == "landed"
    assert (
        state(replace(READY, standing=TaskState.DELETING), None, Now(is_landed=True)) == "deleting"
    )


@pytest.mark.requirement("tasks.agent-ended")
@pytest.mark.parametrize(
    ("of_task", "of_agent", "shown"),
    [
        ("", "it crashed", "it crashed"),
        ("not set up", "it crashed", "not set up"),
        ("", "", ""),
        (f"no files; {UNTRUSTED}", "", f"no files; {reason_text(UNTRUSTED)}"),
        (f"continues {DECLINED}", "", "continues without its setup, which you declined"),
    ],
)
def test_task_shows_its_own_reason_or_why_its_agent_ended(
    of_task: str, of_agent: str, shown: str
) -> None:
    task = replace(READY, reason=of_task)
    view = task_view(task, LogSummary(None, 0), Status.EXITED, Now(ended=of_agent))
    assert view.reason == shown
    assert UNTRUSTED not in view.reason


@pytest.mark.requirement("tasks.agent-ended")
@pytest.mark.parametrize(
    ("ended", "why"),
    [
        (ServerSessionState(Status.EXITED, reason="it crashed"), "it crashed"),
        (ServerSessionState(Status.EXITED, reason="not found", exit_code=127), "not found"),
        (
            ServerSessionState(Status.EXITED, reason="not executable", exit_code=126),
            "not executable",
        ),
        (ServerSessionState(Status.EXITED, reason="closed in the terminal", exit_code=0), ""),
        (ServerSessionState(Status.EXITED, reason="closed in the terminal", exit_code=1), ""),
        (ServerSessionState(Status.EXITED, reason=AS_ASKED), ""),
        (ServerSessionState(Status.LOST, reason="killed"), ""),
        (ServerSessionState(Status.RUNNING, reason="from before"), ""),
    ],
)
def test_reason_of_an_ended_agent_is_shown_unless_the_user_knows_it(
    ended: ServerSessionState, why: str
) -> None:
    assert why_ended(ended) == why


@pytest.mark.requirement("tasks.by-message")
def test_view_of_a_task_has_all_that_is_known_of_it() -> None:
    task = Taskspace(
        *("id", "/p", Layout.BESIDE, "name", "/w", "branch", "created", "description", "base"),
        activated_at="activated",
        standing=TaskState.READY,
        reason="reason",
        collaborator="collaborator",
        agent="opencode",
        parent="parent",
        ports=Ports(20000, 5),
        archived_at="archived",
        landed="landed",
        landed_at="landed at",
    )
    entry = LogEntry(7, "e", "id", "at", Category.QUESTION, "which?", "commit abc", "seen at")
    now = Now(
        spent="3 turns", costs={"USD": 1.5}, conflicts=("with other: a.py:1-2",), is_idle=True
    )

    assert task_view(task, LogSummary(entry, 0), Status.RUNNING, now) == TaskView(
        id="id",
        name="name",
        description="description",
        project="/p",
        worktree="/w",
        branch="branch",
        base="base",
        standing="ready",
        state="idle",
        created_at="created",
        activated_at="activated",
        reason="reason",
        agent="opencode",
        session="running",
        collaborator="collaborator",
        parent="parent",
        ports=(20000, 5),
        last=TaskLog(7, "at", "question", "which?", "commit abc", "seen at"),
        archived_at="archived",
        conflicts=("with other: a.py:1-2",),
        spent="3 turns",
        costs={"USD": 1.5},
        landed="landed",
        landed_at="landed at",
    )
    assert task_view(task, LogSummary(None, 2), None).waiting == 2


@pytest.mark.requirement("tasks.landed")
async def test_landed_task_whose_agent_works_again_is_not_called_landed(
    scene: Scene, tmp_path: Path
) -> None:
    made = await scene.made()
    scene.commit(Path(made.worktree), "mine", "x")
    await scene.engine.land(made.id, LandOptions())
    now = AgentNow()

    async def ask(id_: str) -> AgentNow:
        del id_
        return now

    store = SessionStore(paths({"SYMPOSIUM_HOME": str(tmp_path / "home")}))
    served = serve(scene.engine, tmp_path, LiveSessions(store, ask))

    async def state_of() -> str:
        return (await served.viewing.view(await scene.engine.get(made.id))).state

    seen = [await state_of()]
    store.add(SessionSpec(made.id, SessionKind.ACP, ("agent",), "/"))
    store.write_state(made.id, ServerSessionState(Status.RUNNING))
    handle = store.lock(made.id)
    seen.append(await state_of())
    now = AgentNow(is_idle=True)
    seen.append(await state_of())
    os.close(handle)
    now = AgentNow()
    seen.append(await state_of())
    store.add(SessionSpec(made.id, SessionKind.TERMINAL, ("agent",), "/"))
    store.write_state(made.id, ServerSessionState(Status.RUNNING))
    handle = store.lock(made.id)
    seen.append(await state_of())
    os.close(handle)

    assert seen == ["landed", "working", "landed", "landed", "landed"]

"""Task states in lists, and the reason why an agent ended."""

from dataclasses import replace

import pytest

from localio.text import minute_of
from symposium.sessions.session import AS_ASKED, ServerSessionState, Status
from symposium.tasks.handlers.task_agents import why_ended
from symposium.tasks.handlers.task_views import QUIET, Now, task_view
from symposium.tasks.model import Layout, Taskspace, TaskState
from symposium.tasks.setup import UNTRUSTED
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
    [("", "it crashed", "it crashed"), ("not set up", "it crashed", "not set up"), ("", "", "")],
)
def test_task_shows_its_own_reason_or_why_its_agent_ended(
    of_task: str, of_agent: str, shown: str
) -> None:
    task = replace(READY, reason=of_task)
    view = task_view(task, LogSummary(None, 0), Status.EXITED, Now(ended=of_agent))
    assert view.reason == shown


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

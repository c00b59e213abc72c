"""Inbox items of ended or finished agents, and the transfer of environments."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from msgspec import structs

from symposium.config.paths import paths
from symposium.sessions.client import hand_over_environment, take_environment
from symposium.sessions.session import (
    AS_ASKED,
    Login,
    ServerSessionState,
    SessionError,
    SessionKind,
    SessionSpec,
    SessionStore,
    Status,
)
from symposium.tasks.handlers.finished_agents import FinishedTurns, choose_way, ended_agent
from symposium.tasks.handlers.snoozed import SnoozedItems
from symposium.tasks.model import Layout, Taskspace, TaskState

ID = str(UUID(int=1))
READY = Taskspace(
    ID, "/p", Layout.BESIDE, "name", "/w", "b", "2026-01-01T00:00:00Z", standing=TaskState.READY
)
LOGIN = Login("log in first", ("Browser: it opens one",), {"web": "Browser", "retry": "odd"})


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    places = {"SYMPOSIUM_HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path)}
    made = SessionStore(paths(places))
    made.add(SessionSpec(ID, SessionKind.ACP, ("agent",), "/"))
    return made


FAILED = ServerSessionState(Status.EXITED, server_pid=7, reason="it crashed")


@pytest.mark.requirement("approvals.ended-agent")
def test_failed_agent_is_in_the_inbox_until_it_runs_again(store: SessionStore) -> None:
    store.write_state(ID, FAILED)
    (item,) = ended_agent(READY, store)
    lock = store.lock(ID)
    running = ended_agent(READY, store)
    os.close(lock)

    assert (item.id, item.kind, item.text) == (
        f"failed:{ID}:7",
        "failed",
        "its agent has ended: it crashed",
    )
    assert [each.id for each in item.choices] == ["retry", "seen"]
    assert running == []


@pytest.mark.requirement("approvals.ended-agent")
@pytest.mark.parametrize(
    ("state", "standing"),
    [
        (structs.replace(FAILED, reason=AS_ASKED), TaskState.READY),
        (structs.replace(FAILED, exit_code=1), TaskState.READY),
        (structs.replace(FAILED, status=Status.STARTING), TaskState.READY),
        (FAILED, TaskState.ARCHIVED),
        (FAILED, TaskState.SETUP_FAILED),
    ],
)
def test_expected_exit_is_not_in_the_inbox(
    store: SessionStore, state: ServerSessionState, standing: TaskState
) -> None:
    store.write_state(ID, state)
    assert ended_agent(replace(READY, standing=standing), store) == []


@pytest.mark.requirement("tasks.login")
@pytest.mark.parametrize(("answer", "chosen"), [("web", "web"), ("retry", ""), ("other", "")])
def test_chosen_login_method_is_one_that_the_agent_named(
    store: SessionStore, answer: str, chosen: str
) -> None:
    store.write_state(ID, structs.replace(FAILED, login=replace(LOGIN, chosen="before")))
    (item,) = ended_agent(READY, store)
    choose_way(ID, store, answer)
    found = store.state(ID).login

    assert item.kind == "login"
    assert item.text == "its agent requires a login: log in first\nBrowser: it opens one"
    assert [each.id for each in item.choices] == ["web", "retry"]
    assert found == replace(LOGIN, chosen=chosen)


@pytest.mark.requirement("approvals.done")
def test_turn_that_changed_files_waits_for_a_review_of_exactly_those(
    store: SessionStore, tmp_path: Path
) -> None:
    def turns() -> FinishedTurns:
        return FinishedTurns(store, SnoozedItems(tmp_path / "answered.json"))

    store.write_state(ID, ServerSessionState(Status.EXITED, changed_at=0))
    none = turns().of(READY)
    store.write_state(ID, ServerSessionState(Status.EXITED, changed_at=1000.5))
    (item,) = turns().of(READY)
    archived = turns().of(replace(READY, standing=TaskState.ARCHIVED))
    landed = [
        len(turns().of(replace(READY, landed_at=f"1970-01-01T00:16:{second}+00:00")))
        for second in ("40", "40.5", "41")
    ]
    turns().review_all(READY)
    reviewed = turns().of(READY)
    store.write_state(ID, ServerSessionState(Status.EXITED, changed_at=1000.6))
    later = turns().of(READY)

    assert (none, archived, reviewed) == ([], [], [])
    assert "its agent is done and has changed files" in item.text
    assert landed == [1, 0, 0]
    assert [each.id == item.id for each in later] == [False]


@pytest.mark.requirement("tasks.environment-lent")
async def test_environment_is_served_to_programs_of_this_user_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent = {"A": "1=2", "EMPTY": "", "LINES": "a\nb", "odd": "\udcff"}
    async with hand_over_environment(lent, tmp_path / "run") as path:
        mode = os.stat(path).st_mode & 0o777  # noqa: PTH116 - it is text
        twice = [await take_environment(path), await take_environment(path)]
        mine = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: mine + 1)
        reader, writer = await asyncio.open_unix_connection(path)
        other = await reader.read()
        writer.close()
        monkeypatch.undo()

    assert twice == [lent, lent]
    assert mode == 0o600
    assert other == b""
    assert list((tmp_path / "run").iterdir()) == []
    with pytest.raises(SessionError, match="could not receive"):
        await take_environment(path)

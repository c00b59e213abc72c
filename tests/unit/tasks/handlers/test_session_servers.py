"""Session servers are queried at once; one that hangs delays no other task."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest
from tests.support.session_servers import Servers

from symposium.config.paths import paths
from symposium.registry.index import registry_context
from symposium.sessions.client import DESCRIBE, NoAnswerError, reach
from symposium.sessions.session import ServerSessionState, SessionStore, Status
from symposium.tasks.handlers import live_sessions
from symposium.tasks.handlers.live_sessions import NO_AGENT, LiveSessions, SessionServers
from symposium.tasks.handlers.task_agents import TaskAgents

WORKING: Final[dict[str, Any]] = {
    "acpSession": "one",
    "working": True,
    "waiting": 0,
    "questions": [],
}
IDLE: Final[dict[str, Any]] = {**WORKING, "working": False}


async def idle() -> Any:
    return IDLE


async def working() -> Any:
    return WORKING


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncGenerator[Servers]:
    store = SessionStore(paths({"SYMPOSIUM_HOME": str(tmp_path / "home")}))
    async with Servers(store, tmp_path) as made:
        yield made


@pytest.mark.requirement("agent-sessions.asked-at-once")
async def test_session_servers_are_queried_concurrently(servers: Servers) -> None:
    asked = asyncio.Barrier(3)

    async def once_all_were_queried() -> Any:
        await asked.wait()
        return WORKING

    ids = [servers.answering(once_all_were_queried) for _ in range(3)]
    found = await SessionServers(servers.store, timeout=30).all(ids)

    assert [found[id_].no_answer_since for id_ in ids] == ["", "", ""]


@pytest.mark.requirement("agent-sessions.asked-at-once")
async def test_hanging_session_server_changes_no_other_answer(servers: Servers) -> None:
    hangs, answers, ended = servers.hanging(), servers.answering(idle), str(uuid4())
    found = await SessionServers(servers.store, timeout=0.1).all([hangs, answers, ended])

    assert found[hangs].no_answer_since
    assert found[answers].is_idle
    assert found[answers].no_answer_since == found[ended].no_answer_since == ""


@pytest.mark.requirement("agent-sessions.asked-at-once")
async def test_no_answer_since_is_kept_until_the_server_answers(
    servers: Servers,
) -> None:
    hangs = servers.hanging()
    asking = SessionServers(servers.store, timeout=0.1)
    first = (await asking.now(hangs)).no_answer_since
    again = (await asking.now(hangs)).no_answer_since
    servers.answers(hangs, idle)
    answered = await asking.now(hangs)
    other = servers.hanging()
    before = (await asking.now(other)).no_answer_since
    servers.ended(other)
    ended = await asking.now(other)
    servers.hanging(other)
    restarted = (await asking.now(other)).no_answer_since

    assert first == again != ""
    assert answered.no_answer_since == ""
    assert ended == NO_AGENT
    assert restarted > before > ""


@pytest.mark.requirement("agent-sessions.asked-at-once")
async def test_query_to_a_hanging_session_server_raises_no_answer_error(
    servers: Servers,
) -> None:
    hangs = servers.hanging()
    with pytest.raises(NoAnswerError, match=f"{hangs} did not answer within 0.05 s"):
        async with reach(servers.store, hangs) as server:
            await server.ask(DESCRIBE, timeout=0.05)


@pytest.mark.requirement("agent-sessions.asked-at-once")
async def test_server_that_did_not_answer_gets_less_time_for_the_next_query(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_sessions, "NEXT_TIMEOUT", 0.0)
    answers, hangs = servers.answering(idle), servers.hanging()
    asking = SessionServers(servers.store, timeout=0.1)
    patient = SessionServers(servers.store, timeout=30)

    first = await patient.now(answers), await asking.now(hangs)
    servers.answers(hangs, idle)
    second = await patient.now(answers), await asking.now(hangs)

    assert [each.is_idle for each in (*first, *second)] == [True, False, True, False]
    assert second[1].no_answer_since == first[1].no_answer_since != ""
    servers.ended(hangs)
    assert await asking.now(hangs) == NO_AGENT


@pytest.mark.requirement("tasks.landed-is-safe")
async def test_only_a_session_server_that_has_finished_its_prompts_counts_as_idle(
    servers: Servers, tmp_path: Path
) -> None:
    places = registry_context({"SYMPOSIUM_HOME": str(tmp_path / "home")})
    agents = TaskAgents(servers.store, places, LiveSessions(servers.store), Path("/nowhere"))
    ids = [servers.answering(each) for each in (idle, working)]
    for id_ in ids:
        servers.store.write_state(id_, ServerSessionState(Status.RUNNING, 7))

    assert [await agents.idle_process(id_) for id_ in ids] == [7, None]
    assert await agents.idle_process(str(uuid4())) is None

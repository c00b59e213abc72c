"""States of running sessions, also when one of their servers hangs."""

import asyncio
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from tests.support.event_listener import Mailbox

from symposium.config.paths import paths
from symposium.sessions.session import (
    ServerSessionState,
    SessionKind,
    SessionSpec,
    SessionStore,
    Status,
)
from symposium.tasks.handlers import live_sessions
from symposium.tasks.handlers.live_sessions import NO_AGENT, AgentNow, LiveSessions

ONE, TWO = str(UUID(int=1)), str(UUID(int=2))


class Slow:
    """A server's answer that comes when the test gives it."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.said: asyncio.Future[AgentNow] = asyncio.get_running_loop().create_future()


class Servers:
    """Fake session servers: each returns a set state, hangs, or has no prompts.

    Attributes:
        asked: the sessions that were queried, in order.
        slow: answers to the next queries.
    """

    def __init__(self, store: SessionStore) -> None:
        self.store = store
        self.asked: list[str] = []
        self.hanging: set[str] = set()
        self.terminals: set[str] = set()
        self.said: dict[str, AgentNow] = {}
        self.slow: list[Slow] = []
        self._locks: dict[str, int] = {}

    def start(self, id_: str) -> None:
        self.store.add(SessionSpec(id_, SessionKind.ACP, ("agent",), "/"))
        self.store.write_state(id_, ServerSessionState(Status.RUNNING))
        self._locks[id_] = self.store.lock(id_)
        self.said[id_] = AgentNow(announces=True, seq=1)

    def end(self, id_: str) -> None:
        self.store.write_state(id_, ServerSessionState(Status.EXITED, reason="it failed"))
        os.close(self._locks.pop(id_))

    def end_all(self) -> None:
        for id_ in list(self._locks):
            self.end(id_)

    async def ask(self, id_: str) -> AgentNow:
        self.asked.append(id_)
        if id_ in self.hanging:
            return AgentNow(no_answer_since="2026-01-01T00:00:00+00:00")
        if self.slow:
            slow = self.slow.pop(0)
            slow.asked.set()
            return await slow.said
        return NO_AGENT if id_ in self.terminals else self.said[id_]


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    places = {"SYMPOSIUM_HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path)}
    made = Servers(SessionStore(paths(places)))
    yield made
    made.end_all()


@pytest.mark.requirement("tasks.server-hangs")
async def test_hanging_server_shows_since_when_and_is_queried_periodically(
    servers: Servers,
) -> None:
    now = [0.0]
    live = LiveSessions(servers.store, servers.ask, lambda: now[0])
    servers.start(ONE)
    servers.start(TWO)
    await live.of([ONE, TWO])
    servers.hanging.add(ONE)
    servers.said[TWO] = AgentNow(is_idle=True, announces=True, seq=2)
    now[0] = 6.0
    first = await live.of([ONE, TWO])
    asked = len(servers.asked)
    now[0] = 7.0
    second = await live.of([ONE])
    servers.hanging.clear()
    now[0] = 12.0
    third = await live.of([ONE])

    assert first[ONE].no_answer_since == "2026-01-01T00:00:00+00:00"
    assert (first[ONE].is_idle, first[TWO].is_idle) == (False, True)
    assert second == {ONE: first[ONE]}
    assert servers.asked[asked:] == [ONE], "queried again after a while, and not for each list"
    assert third[ONE].no_answer_since == ""


@pytest.mark.requirement("tasks.server-announces")
async def test_announcing_server_is_queried_after_announcements_not_for_a_list(
    servers: Servers,
) -> None:
    now = [0.0]
    live = LiveSessions(servers.store, servers.ask, lambda: now[0])
    changes = Mailbox[tuple[str, str]]()
    live.on_change = lambda id_, cause: changes.add((id_, cause))
    servers.start(ONE)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(live.run())
        live.noted(ONE, "connected")
        came = await changes.next()
        for _ in range(5):
            await live.of([ONE])
        live.noted(ONE, "again")
        await changes.next()
        await live.of([ONE])
        quiet = list(servers.asked)
        servers.said[ONE] = AgentNow(({"question": 7},), announces=True, seq=5)
        live.noted(ONE, "asked")
        asked = await changes.next()
        known = await live.of([ONE])
        servers.end(ONE)
        await live.gone(ONE)
        exited = await changes.next()
        running.cancel()

    assert quiet == [ONE, ONE], "once for each announcement, also of the same state"
    assert servers.asked == [ONE, ONE, ONE]
    assert known[ONE].questions == ({"question": 7},)
    assert [came, asked, exited] == [(ONE, "connected"), (ONE, "asked"), (ONE, "exited")]
    assert (await live.of([ONE, TWO]), live.ended()) == ({}, [ONE])


@pytest.mark.requirement("tasks.server-announces")
async def test_server_of_an_earlier_version_is_queried_for_each_list(servers: Servers) -> None:
    live = LiveSessions(servers.store, servers.ask)
    servers.start(ONE)
    servers.said[ONE] = AgentNow(seq=1)
    await live.of([ONE])
    servers.said[ONE] = AgentNow(is_idle=True, seq=2)

    assert (await live.of([ONE]))[ONE].is_idle


@pytest.mark.requirement("tasks.server-announces")
async def test_daemon_finds_running_and_ended_sessions_when_it_starts(servers: Servers) -> None:
    servers.start(ONE)
    servers.start(TWO)
    servers.terminals.add(ONE)
    servers.end(TWO)
    live = LiveSessions(servers.store, servers.ask)
    await live.find()

    assert (live.known(), live.ended()) == ([ONE], [TWO])
    assert servers.asked == [ONE]


@pytest.mark.requirement("tasks.server-announces")
async def test_list_right_after_an_announcement_queries_first(servers: Servers) -> None:
    live = LiveSessions(servers.store, servers.ask, lambda: 0.0)
    servers.start(ONE)
    live.noted(ONE, "connected")
    await live.of([ONE])
    servers.said[ONE] = AgentNow(is_idle=True, announces=True, seq=2)
    live.noted(ONE, "turn_ended")

    assert (await live.of([ONE]))[ONE].is_idle


@pytest.mark.requirement("tasks.server-announces")
async def test_running_server_without_a_connection_is_queried_for_each_list(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_sessions, "STOP_TIMEOUT", 0)
    live = LiveSessions(servers.store, servers.ask, lambda: 0.0)
    servers.start(ONE)
    live.noted(ONE, "connected")
    await live.gone(ONE)
    await live.of([ONE])
    servers.said[ONE] = AgentNow(is_idle=True, announces=True, seq=2)

    assert (await live.of([ONE]))[ONE].is_idle


@pytest.mark.requirement("tasks.server-announces")
async def test_answer_from_before_the_last_event_is_ignored_and_queried_again(
    servers: Servers,
) -> None:
    live = LiveSessions(servers.store, servers.ask, lambda: 0.0)
    servers.start(ONE)
    servers.said[ONE] = AgentNow(({"question": 7},), announces=True, seq=5)
    live.noted(ONE, "asked")
    await live.of([ONE])
    servers.hanging.add(ONE)
    live.changed(ONE, "changed")
    silent = await live.of([ONE])
    servers.hanging.clear()
    servers.said[ONE] = AgentNow(announces=True, seq=4)
    live.changed(ONE, "changed")
    late = await live.of([ONE])
    servers.said[ONE] = AgentNow(is_idle=True, announces=True, seq=6)
    then = await live.of([ONE])

    asked = AgentNow(({"question": 7},), announces=True, seq=5)
    assert silent == {ONE: replace(asked, no_answer_since="2026-01-01T00:00:00+00:00")}
    assert late == {ONE: asked}
    assert then == {ONE: servers.said[ONE]}


ASKS = AgentNow(({"question": 7},), announces=True, seq=5)


async def asking(servers: Servers) -> LiveSessions:
    """Sessions of which one has an open question, as a list has shown."""
    live = LiveSessions(servers.store, servers.ask, lambda: 0.0)
    servers.start(ONE)
    servers.said[ONE] = ASKS
    live.noted(ONE, "asked")
    await live.of([ONE])
    return live


@pytest.mark.requirement("tasks.server-announces")
async def test_list_during_a_query_from_before_a_change_queries_again(servers: Servers) -> None:
    live = await asking(servers)
    servers.slow = [slow := Slow()]
    live.changed(ONE, "changed")
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(live.of([ONE]))
        await slow.asked.wait()
        live.changed(ONE, "settled")
        servers.said[ONE] = replace(ASKS, questions=())
        meanwhile = await live.of([ONE])
        slow.said.set_result(ASKS)

    assert meanwhile == {ONE: servers.said[ONE]}
    assert first.result() == meanwhile, "the later query has the answer"
    assert await live.of([ONE]) == meanwhile


@pytest.mark.requirement("tasks.server-announces")
async def test_list_waits_for_the_answer_to_a_query_after_the_last_change(
    servers: Servers,
) -> None:
    live = await asking(servers)
    servers.slow = [slow := Slow()]
    live.changed(ONE, "settled")
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(live.run())
        await slow.asked.wait()
        servers.said[ONE] = replace(ASKS, questions=())
        listed = await live.of([ONE])
        slow.said.set_result(servers.said[ONE])
        running.cancel()

    assert listed == {ONE: servers.said[ONE]}

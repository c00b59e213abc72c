"""Backpressure: bounded queues, fairness, no deadlock (acp-host §1.5 R4, architecture §4)."""

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any

import pytest
from tests.support.chain_harness import (
    VERSION_ONE,
    ChainHarness,
    Peer,
    PlayedComponent,
    chain_harness,
    inner,
    mods,
)

from peerwire.jsonrpc.transport import HIGH_WATER
from peerwire.transports.memory import memory_pair
from symposium.chain import link
from symposium.chain.link import MAX_OPEN, OVERFLOW
from symposium.chain.messages import ChainMessage
from symposium.chain.mod import Forward, Mod, from_agent

LINE = 2048
BOUND = 4 * HIGH_WATER
"""Bytes that the conductor may hold for one slow reader: the mark, and one or two reads."""


def flood(session: str, count: int) -> list[dict[str, Any]]:
    pad = "x" * LINE
    params = [{"sessionId": session, "n": number, "pad": pad} for number in range(count)]
    return [{"jsonrpc": "2.0", "method": "session/update", "params": one} for one in params]


async def settled(it: ChainHarness) -> None:
    """Wait until no message moves any more."""
    before = -1
    while before != (now := it.conductor.client.transport.backlog):
        before = now
        # A memory pair delivers in turns of the loop, and each delivery takes several turns.
        near, far = memory_pair()
        echo = Peer(far)
        for _ in range(100):
            near.send(b"{}")
            await echo.line()


@pytest.mark.requirement(
    "conductor.pressure-slow-client", "jsonrpc.outbox-pauses-source", "jsonrpc.outbox-resumes"
)
@pytest.mark.parametrize("nested", [0, 1])
async def test_slow_client_slows_the_agent_and_the_host_holds_little(nested: int) -> None:
    async with chain_harness(*[inner()] * nested) as it:
        agent = await it.open()
        it.client.transport.pause_reading()
        agent.write(*flood("s", 3000))
        await settled(it)
        held = it.conductor.client.transport.backlog
        assert HIGH_WATER < held < BOUND
        # The agent still has the rest.
        assert agent.transport.backlog > 3000 * LINE - (2 + 4 * nested) * BOUND
        it.client.transport.resume_reading()
        numbers = [message["params"]["n"] for message in await it.client.reads(3000)]
        assert numbers == [*range(3000)]


@pytest.mark.requirement("conductor.pressure-slow-client")
async def test_slow_client_can_still_send() -> None:
    async with chain_harness() as it:
        agent = await it.open()
        it.client.transport.pause_reading()
        agent.write(*flood("s", 500))
        await settled(it)
        it.client.tell("session/cancel", {"sessionId": "s"})
        assert (await agent.read())["method"] == "session/cancel"


@pytest.mark.requirement("conductor.pressure-slow-component", "jsonrpc.outbox-pauses-only-source")
async def test_slow_proxy_delays_only_its_own_messages_and_cancels_pass() -> None:
    stand = PlayedComponent("proxy")
    async with chain_harness(stand.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        proxy = await stand.peer()
        await proxy.read()
        proxy.ask("i", "_proxy/successor", {"method": "initialize", "params": VERSION_ONE})
        agent = await it.agent()
        agent.answer(await agent.read(), VERSION_ONE)
        await proxy.read()
        proxy.write({"jsonrpc": "2.0", "id": 1, "result": VERSION_ONE})
        await it.client.read()
        proxy.transport.pause_reading()
        agent.write(*flood("s", 500))
        await settled(it)
        assert agent.transport.backlog > 100 * LINE
        # The client is read meanwhile, and the proxy's own messages arrive.
        it.client.ask(1, "session/prompt", {})
        it.client.tell("$/cancel_request", {"requestId": 1})
        await settled(it)
        assert it.client.transport.backlog == 0
        proxy.tell("session/update", {"still": "here"})
        assert (await it.client.read())["params"] == {"still": "here"}
        proxy.transport.resume_reading()
        names = [message["method"] for message in await proxy.reads(502)]
        assert names.index("session/prompt") < names.index("$/cancel_request")


@pytest.mark.requirement("conductor.pressure-no-deadlock", "jsonrpc.outbox-no-cycle-deadlock")
@pytest.mark.parametrize("nested", [0, 2])
async def test_both_ends_may_write_much_before_they_read(nested: int) -> None:
    async with chain_harness(*[inner()] * nested) as it:
        agent = await it.open()
        for peer in (it.client, agent):
            peer.transport.pause_reading()
            peer.write(*flood("s", 2000))
        await settled(it)
        for peer in (it.client, agent):
            peer.transport.resume_reading()
        for peer in (it.client, agent):
            numbers = [message["params"]["n"] for message in await peer.reads(2000)]
            assert numbers == [*range(2000)]


class Holds(Mod):
    """Holds the first update until the test releases it."""

    def __init__(self) -> None:
        self.free = asyncio.Event()

    @from_agent("session/update")
    async def hold(self, message: ChainMessage) -> Forward:
        if message.params["n"] == 0:
            await self.free.wait()
        return Forward()


@pytest.mark.requirement("conductor.pressure-parked")
async def test_messages_held_by_a_mod_count_and_slow_the_agent() -> None:
    holds = Holds()
    async with chain_harness(*mods(holds)) as it:
        agent = await it.open()
        agent.write(*flood("s", 1000))
        await settled(it)
        waiting = it.conductor.client.plain.back.queues.waiting_bytes
        assert HIGH_WATER < waiting < BOUND
        assert agent.transport.backlog > 1000 * LINE - 2 * BOUND
        holds.free.set()
        numbers = [message["params"]["n"] for message in await it.client.reads(1000)]
        assert numbers == [*range(1000)]


@pytest.mark.requirement("conductor.pressure-initialize")
async def test_messages_for_a_component_that_initializes_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link, "BACK_PRESSURE", 100_000)
    stand = PlayedComponent("proxy")
    async with chain_harness(stand.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        proxy = await stand.peer()
        await proxy.read()
        proxy.ask("i", "_proxy/successor", {"method": "initialize", "params": VERSION_ONE})
        agent = await it.agent()
        initialize = await agent.read()
        inside = {"method": "m", "params": {"pad": "x" * LINE}}
        proxy.write(*[{"jsonrpc": "2.0", "method": "_proxy/successor", "params": inside}] * 1000)
        await settled(it)
        assert proxy.transport.backlog > 800 * LINE
        agent.answer(initialize, VERSION_ONE)
        assert len(await agent.reads(1000)) == 1000


@pytest.mark.requirement("conductor.pressure-both")
async def test_paused_peer_is_read_again_when_it_is_slow_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link, "BACK_PRESSURE", 100_000)
    async with chain_harness() as it:
        agent = await it.open()
        agent.transport.pause_reading()
        it.client.write(*flood("s", 400))
        await settled(it)
        assert it.client.transport.backlog > 100 * LINE
        # Now the agent waits for the client in its turn: one of them must be read.
        it.client.transport.pause_reading()
        agent.write(*flood("s", 400))
        await settled(it)
        assert it.client.transport.backlog == 0


@pytest.mark.requirement("jsonrpc.outbox-hard-cap")
async def test_peer_that_never_reads_is_disconnected_alone_when_its_backlog_is_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link, "BACK_PRESSURE", 100_000)
    monkeypatch.setattr(link, "OVERFLOW", 400_000)
    async with chain_harness() as it:
        agent = await it.open()
        it.client.ask(1, "session/prompt", {})
        await agent.read()
        # The client is slow itself, so it is not paused for the agent.
        it.client.transport.pause_reading()
        agent.transport.pause_reading()
        agent.write(*flood("s", 200))
        await settled(it)
        it.client.write(*flood("s", 400))
        await settled(it)
        it.client.transport.resume_reading()
        answer = await until_answer(it.client)
        assert answer["error"]["data"]["component"] == "agent"
        assert "stopped reading" in answer["error"]["data"]["stderrTail"]
        assert await it.exit_code() == 1


@pytest.mark.requirement("conductor.pressure-client")
async def test_client_that_never_reads_is_logged_and_left_within_the_grace_period(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(link, "OVERFLOW", 100_000)
    async with chain_harness() as it:
        agent = await it.open()
        it.client.transport.pause_reading()
        agent.tell("session/update", {"pad": "x" * 200_000})
        assert await it.exit_code() == 0

    assert caplog.text.count("client has stopped reading") == 1


@pytest.mark.requirement("jsonrpc.reader-no-task-per-message")
async def test_forwarding_creates_no_asyncio_task() -> None:
    loop = asyncio.get_running_loop()
    made: list[Any] = []

    def make(
        loop: asyncio.AbstractEventLoop,
        work: Coroutine[Any, Any, Any] | Generator[Any, None, Any],
        **options: Any,
    ) -> asyncio.Task[Any]:
        made.append(work)
        return asyncio.Task(work, loop=loop, **options)

    async with chain_harness(inner(), *mods(Mod())) as it:
        agent = await it.open()
        lines = [{"jsonrpc": "2.0", "method": "m", "params": {"n": n}} for n in range(10_000)]
        loop.set_task_factory(make)
        agent.write(*lines)
        assert len(await it.client.reads(10_000)) == 10_000
        loop.set_task_factory(None)
    assert made == []


async def until_answer(peer: Peer) -> dict[str, Any]:
    while "method" in (message := await peer.read()):
        pass
    return message


@pytest.mark.requirement("conductor.open-requests-bounded")
async def test_requests_above_the_limit_are_refused_until_responses_arrive() -> None:
    async with chain_harness() as it:
        agent = await it.open()
        for name in range(MAX_OPEN):
            it.client.ask(name, "session/list")
        asked = await agent.reads(MAX_OPEN)
        it.client.ask("too many", "session/list")
        refusal = await it.client.read()
        assert refusal["error"]["data"]["reason"] == "too_many_open_requests"
        agent.answer(asked[0], {"sessions": []})
        assert (await it.client.read())["id"] == 0
        it.client.ask("again", "session/list")
        agent.answer(await agent.read(), {"sessions": []})
        assert (await it.client.read())["id"] == "again"


@pytest.mark.requirement("conductor.open-requests-bounded")
async def test_open_requests_are_bounded_in_bytes() -> None:
    large = {"x": "x" * (30 * 1024 * 1024)}
    async with chain_harness() as it:
        agent = await it.open()
        for name in range(6):
            it.client.ask(name, "session/prompt", large)
        # One above the limit is accepted: its size is known only after the read.
        refused = await it.client.read()
        assert refused["id"] == 5
        assert refused["error"]["data"]["limits"]["bytes"] == OVERFLOW
        for turn in await agent.reads(5):
            agent.answer(turn, {"stopReason": "end_turn"})
        assert sorted(one["id"] for one in await it.client.reads(5)) == [0, 1, 2, 3, 4]
        assert it.conductor.client.open_size == 0

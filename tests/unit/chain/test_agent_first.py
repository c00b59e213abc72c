"""The agent is asked before the chain is, and once more only if that was wrong."""

import asyncio
import json
import sys
from typing import Any

import pytest

from peerwire.errors import RpcError
from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.handlers import Request, RequestHandler
from peerwire.jsonrpc.transport import HIGH_WATER, Transport
from peerwire.jsonrpc.values import encode_value
from peerwire.testing import LinePeer, Recorder
from peerwire.transports.command import Command
from peerwire.transports.memory import ForwardingTransport, memory_pair
from symposium.chain.blueprint import InProcess, OnStderr, Program
from symposium.chain.messages import ChainMessage
from symposium.chain.mod import Forward, Mod, Outcome, from_client
from symposium.mods.pass_ import spec as pass_spec
from symposium.planning import planned_chain as planned_chain_module
from symposium.planning.chain_spec import ChainSpec
from symposium.planning.planned_chain import (
    FIRST_ID,
    AgentFirstTransport,
    agent_first,
    plain,
    planned_chain,
)
from symposium.testing import CAPABILITIES, FakeAgent, chain_of

PARAMS: dict[str, Any] = {
    "protocolVersion": 1,
    "clientCapabilities": CAPABILITIES,
    "clientInfo": {"name": "fake-editor", "version": "1"},
}
"""What the fake editor sends."""

COMMAND = Command((sys.executable, "-m", "symposium.agents.testy"))


class Spawned:
    """Agents, a new one for each start, and the order in which all are asked.

    Attributes:
        requests: handlers of every agent in place of its own.
    """

    def __init__(self) -> None:
        self.requests: dict[str, RequestHandler] = {}
        self.agents: list[FakeAgent] = []
        self.order: Recorder[str] = Recorder()

    def program(self, tasks: asyncio.TaskGroup, prediction: dict[str, Any]) -> Program:
        def spawn(_: OnStderr | None) -> Transport:
            agent = FakeAgent("Hi")
            agent.requests |= self.requests
            self.agents.append(agent)
            near, far = memory_pair()
            tasks.create_task(agent.serve(far))
            self.order.note("agent")
            return near

        return agent_first(Program("agent", COMMAND), prediction, spawn_agent=spawn)

    def greetings(self) -> list[Any]:
        """`initialize` requests that each agent got."""
        return [
            [each.params for each in agent.received.items if each.method == "initialize"]
            for agent in self.agents
        ]


class Adding(Mod):
    """Adds a member to `initialize` that no component could foresee."""

    @from_client("initialize")
    def add(self, message: ChainMessage) -> Outcome:
        return Forward({**message.params, "surprise": True})


@pytest.mark.requirement("planning.agent-first")
async def test_stored_answer_is_returned() -> None:
    spawned = Spawned()
    async with (
        asyncio.TaskGroup() as tasks,
        chain_of("pass", agent=spawned.program(tasks, PARAMS)) as editor,
    ):
        answer = await editor.initialize()
        assert answer["agentInfo"]["name"] == "fake-agent"
        assert (await editor.prompt("Hello")).text == "Hi"
    assert spawned.greetings() == [[PARAMS]]


@pytest.mark.requirement("planning.agent-first")
async def test_stored_error_is_returned() -> None:
    error = RpcError(-32000, {"why": "login"}, message="Log in first")

    def refuse(_: Request) -> Any:
        raise error

    spawned = Spawned()
    spawned.requests["initialize"] = refuse
    async with (
        asyncio.TaskGroup() as tasks,
        chain_of("pass", agent=spawned.program(tasks, PARAMS)) as editor,
    ):
        with pytest.raises(RpcError) as caught:
            await editor.initialize()
    assert (caught.value.code, caught.value.message, caught.value.data) == (
        -32000,
        "Log in first",
        {"why": "login"},
    )


@pytest.mark.requirement("planning.agent-first")
async def test_agent_is_initialized_while_mods_still_work() -> None:
    spawned = Spawned()
    decided = asyncio.Event()

    class Slow(Mod):
        @from_client("initialize")
        async def wait(self, message: ChainMessage) -> Outcome:
            del message
            await decided.wait()
            return Forward()

    async with (
        asyncio.TaskGroup() as tasks,
        chain_of(Slow(), agent=spawned.program(tasks, PARAMS)) as editor,
    ):
        asking = tasks.create_task(editor.initialize())
        await spawned.order.until(lambda order: order == ["agent"])
        (agent,) = spawned.agents
        await agent.received.until(lambda came: "initialize" in [each.method for each in came])
        assert not asking.done()
        decided.set()
        await asking


@pytest.mark.requirement("planning.wrong-prediction")
async def test_a_wrong_prediction_starts_the_agent_once_more_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    spawned = Spawned()
    async with (
        asyncio.TaskGroup() as tasks,
        chain_of(Adding(), agent=spawned.program(tasks, PARAMS)) as editor,
    ):
        assert (await editor.prompt("Hello")).text == "Hi"
    assert [greetings[-1] for greetings in spawned.greetings()[1:]] == [
        {**PARAMS, "surprise": True}
    ]
    assert len(spawned.agents) == 2
    assert "it is started again" in caplog.text


@pytest.mark.requirement("planning.wrong-prediction")
def test_empty_meta_makes_no_difference() -> None:
    given: dict[str, Any] = {
        "_meta": None,
        "a": [{"_meta": {}, "b": None}],
        "c": {"_meta": {"d": {}}},
    }
    assert plain(given) == {"a": [{"b": None}], "c": {"_meta": {"d": {}}}}


@pytest.mark.requirement("planning.agent-first")
async def test_real_program_is_initialized_first(
    caplog: pytest.LogCaptureFixture,
) -> None:
    chain = ChainSpec((lambda: InProcess("pass", pass_spec.make()),), Program("testy", COMMAND))
    made = planned_chain(chain, PARAMS, "agent-first")
    assert made.blueprint.params is not None
    agent = made.blueprint.agent
    assert isinstance(agent, Program)
    async with chain_of(*made.blueprint.mods, agent=agent, bridge="off") as editor:
        await editor.initialize(capabilities=made.blueprint.params["clientCapabilities"])
        turn = await editor.prompt(json.dumps({"command": "echo", "message": "Hi"}))
        assert turn.stop_reason == "end_turn"
    assert "started again" not in caplog.text


class Paused(ForwardingTransport):
    """The transport of an agent, and when reading from it was paused and resumed."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.reading: Recorder[str] = Recorder()

    def pause_reading(self) -> None:
        super().pause_reading()
        self.reading.note("pause")

    def resume_reading(self) -> None:
        super().resume_reading()
        self.reading.note("resume")


class EarlyAgent:
    """An agent that writes by hand, and the chain's end of its transport."""

    def __init__(self) -> None:
        near, far = memory_pair()
        self.transport = Paused(near)
        self.agent = LinePeer(far)
        first = AgentFirstTransport(lambda: self.transport, PARAMS, lambda work: work.close())
        self.chain = LinePeer(first)

    def flood(self) -> list[bytes]:
        """Write four times the bound, one line for each read."""
        lines = [wire.notification("x", b'"%d%s"' % (i, b"." * HIGH_WATER)) for i in range(4)]
        for line in lines:
            self.agent.transport.send(line)
        return lines

    def answer(self) -> None:
        self.agent.transport.send(wire.result_response(FIRST_ID, b"{}"))

    async def initialize(self, count: int) -> list[Any]:
        """Send the chain's `initialize`; return the lines that it gets."""
        self.chain.transport.send(wire.request(b"1", "initialize", encode_value(PARAMS)))
        return await self.chain.lines.count(count)


@pytest.mark.requirement("planning.agent-first-bounded")
@pytest.mark.parametrize("is_answered_first", [True, False])
async def test_early_lines_pause_reading_until_the_chain_asks(*, is_answered_first: bool) -> None:
    early = EarlyAgent()
    if is_answered_first:
        early.answer()
    lines = early.flood()
    if not is_answered_first:
        early.answer()
    await early.transport.reading.until(lambda reading: reading == ["pause"])
    # The chain was slow for a moment; early lines still wait.
    early.chain.transport.pause_reading()
    early.chain.transport.resume_reading()
    if is_answered_first:
        assert early.agent.transport.backlog > 2 * HIGH_WATER
    found = await early.initialize(5)

    assert found == [wire.result_response(b"1", b"{}"), *lines]
    assert early.transport.reading.items == ["pause", "pause", "resume"]


@pytest.mark.requirement("planning.agent-first-bounded")
async def test_held_agent_is_not_read_after_its_early_lines() -> None:
    early = EarlyAgent()
    early.answer()
    early.flood()
    await early.transport.reading.until(lambda reading: reading == ["pause"])
    early.chain.transport.pause_reading()
    await early.initialize(2)
    held = list(early.transport.reading.items)
    early.chain.transport.resume_reading()
    await early.chain.lines.count(5)

    assert held == ["pause", "pause"]
    assert early.transport.reading.items == ["pause", "pause", "resume"]


@pytest.mark.requirement("planning.wrong-prediction")
async def test_end_of_the_replaced_agent_does_not_end_the_chain() -> None:
    pairs = [memory_pair(), memory_pair()]
    left = list(pairs)
    first = AgentFirstTransport(lambda: left.pop(0)[0], PARAMS, lambda work: work.close())
    chain = LinePeer(first)
    replaced, agent = (LinePeer(far) for _, far in pairs)
    replaced.transport.send(wire.result_response(FIRST_ID, b"{}"))
    line = wire.request(b"1", "initialize", b"{}")
    first.send(line)
    assert await agent.lines.count(1) == [line]

    replaced.transport.send(wire.notification("late", b"{}"))
    await replaced.transport.aclose()
    agent.transport.send(wire.result_response(b"1", b'"new"'))

    assert await chain.lines.count(1) == [wire.result_response(b"1", b'"new"')]
    assert chain.ends.items == []
    await agent.transport.aclose()
    assert await chain.ends.count(1) == [None]


@pytest.mark.requirement("planning.agent-first-bounded")
async def test_agent_that_floods_without_an_answer_has_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planned_chain_module, "OVERFLOW", 2 * HIGH_WATER)
    early = EarlyAgent()
    early.flood()
    early.answer()
    (error,) = await early.chain.ends.count(1)
    early.transport.resume_reading()
    await early.agent.transport.drain()

    assert f"more than {2 * HIGH_WATER} bytes before it answered" in str(error)
    assert (early.chain.lines.items, len(early.chain.ends.items)) == ([], 1)

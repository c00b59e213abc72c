"""Components that exit, misbehave, or stop answering, in memory (acp-host §1.9 R7, §1.10)."""

import asyncio
from typing import Any

import pytest
from tests.support.chain_harness import (
    VERSION_ONE,
    Peer,
    PlayedComponent,
    bare,
    chain_harness,
    inner,
    mods,
)

from peerwire.jsonrpc.transport import Transport
from symposium.chain import running_chain
from symposium.chain.blueprint import Blueprint, Served
from symposium.chain.conductor import Settings
from symposium.chain.link import PeerState
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import Forward, Mod, from_agent, from_client


@pytest.mark.requirement(
    "conductor.death-pending-answered",
    "conductor.death-turn-ends",
    "conductor.death-exit-code",
    "conductor.death-order",
    "conductor.peer-closes-early",
    "conductor.state-closed",
)
@pytest.mark.parametrize("nested", [[], [inner()], [bare()[0]]])
async def test_open_requests_are_answered_once_after_the_agents_last_messages(
    nested: list[Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The other components do not wait for an agent that has exited.
    monkeypatch.setattr(running_chain, "AGENT_GRACE", 600.0)
    async with chain_harness(*nested) as it:
        agent = await it.open()
        it.client.ask(1, "session/prompt", {"sessionId": "s"})
        it.client.ask(2, "session/prompt", {"sessionId": "t"})
        await agent.reads(2)
        agent.tell("session/update", {"sessionId": "s", "last": "words"})
        await agent.hang_up()
        last, first, second = await it.client.reads(3)
        assert last["params"]["last"] == "words"
        assert {first["id"], second["id"]} == {1, 2}
        for answer in (first, second):
            assert answer["error"]["code"] == -32603
            data = answer["error"]["data"]
            assert (data["reason"], data["component"]) == ("component_exited", "agent")
            assert data["index"] == len(nested)
            assert {"exitCode", "signal", "stderrTail"} <= data.keys()
        assert await it.exit_code() == 1
        assert not it.client.unread


@pytest.mark.requirement("conductor.death-others-end", "conductor.state-failed-from-any")
@pytest.mark.parametrize("at", [0, 1, 2])
async def test_other_components_end_and_both_sides_get_responses_when_a_proxy_exits(
    at: int,
) -> None:
    stands = [PlayedComponent(f"p{number}") for number in range(3)]
    async with chain_harness(*(stand.component for stand in stands)) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        peers: list[Peer] = []
        for stand in stands:
            peer = await stand.peer()
            peers.append(peer)
            request = await peer.read()
            inside = {"method": "initialize", "params": request["params"]}
            peer.ask("i", "_proxy/successor", inside)
        agent = await it.agent()
        agent.answer(await agent.read(), VERSION_ONE)
        for peer in reversed(peers):
            await peer.read()
            peer.write({"jsonrpc": "2.0", "id": 1, "result": VERSION_ONE})
        await it.client.read()
        it.client.ask(1, "session/prompt", {})
        for peer in peers[: at + 1]:
            request = await peer.read()
            if peer is not peers[at]:
                inside: dict[str, Any] = {"method": "session/prompt", "params": {}}
                peer.ask("p", "_proxy/successor", inside)
        await peers[at].hang_up()
        for peer in reversed(peers[:at]):
            answer = await peer.read()
            assert answer["error"]["data"]["component"] == f"p{at}"
            peer.write({"jsonrpc": "2.0", "id": 2, "error": answer["error"]})
        answer = await it.client.read()
        assert (answer["id"], answer["error"]["data"]["index"]) == (1, at)
        assert await it.exit_code() == 1
        for peer in (*peers[:at], *peers[at + 1 :], agent):
            await peer.ended()


@pytest.mark.requirement("conductor.death-other-requests-survive")
async def test_response_on_its_way_is_delivered() -> None:
    upper, lower = PlayedComponent("upper"), PlayedComponent("lower")
    async with chain_harness(upper.component, lower.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        first, second = await upper.peer(), await lower.peer()
        await first.read()
        first.write({"jsonrpc": "2.0", "id": 1, "result": VERSION_ONE})
        await it.client.read()
        it.client.ask(1, "session/list", {})
        request = await first.read()
        await second.hang_up()
        first.answer(request, {"sessions": []})
        assert (await it.client.read())["result"] == {"sessions": []}
        assert await it.exit_code() == 1


@pytest.mark.requirement("conductor.state-draining-in", "conductor.state-draining-out")
async def test_component_gets_pending_messages_and_cannot_send_requests_when_the_chain_ends() -> (
    None
):
    stand = PlayedComponent("proxy")
    async with chain_harness(stand.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        proxy = await stand.peer()
        await proxy.read()
        proxy.write({"jsonrpc": "2.0", "id": 1, "result": VERSION_ONE})
        await it.client.read()
        it.client.ask(1, "session/prompt", {})
        request = await proxy.read()
        await (await it.agent()).hang_up()
        # The chain ends now: responses of the proxy are accepted, and its requests refused.
        proxy.answer(request, {"stopReason": "end_turn"})
        assert (await it.client.read())["result"] == {"stopReason": "end_turn"}
        assert await it.exit_code() == 1
        await proxy.ended()


@pytest.mark.requirement("conductor.death-open-requests")
async def test_requests_of_an_exited_agent_are_canceled() -> None:
    async with chain_harness(inner()) as it:
        agent = await it.open()
        it.client.ask(1, "session/prompt", {})
        await agent.read()
        agent.ask(0, "session/request_permission", {"sessionId": "s"})
        permission = await it.client.read()
        await agent.hang_up()
        messages = await it.client.reads(2)
        cancel = next(message for message in messages if "method" in message)
        assert cancel["params"] == {"requestId": permission["id"]}


@pytest.mark.requirement("conductor.death-open-requests")
async def test_request_of_a_proxy_to_an_exited_agent_is_refused_at_once() -> None:
    stand = PlayedComponent("proxy")
    async with chain_harness(stand.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        proxy = await stand.peer()
        await proxy.read()
        proxy.write({"jsonrpc": "2.0", "id": 1, "result": VERSION_ONE})
        await it.client.read()
        it.client.ask(7, "a")
        await proxy.read()
        await (await it.agent()).hang_up()
        proxy.ask("late", "_proxy/successor", {"method": "a"})
        answer = await proxy.read()
        assert answer["error"]["data"]["reason"] in {"component_exited", "shutting_down"}


@pytest.mark.requirement("conductor.death-open-requests")
async def test_request_held_by_a_mod_gets_the_reason_when_the_agent_exits() -> None:
    class Keeps(Mod):
        @from_client("kept")
        async def keep(self, _: ChainMessage) -> Forward:
            await asyncio.Event().wait()
            return Forward()

    async with chain_harness(*mods(Keeps())) as it:
        agent = await it.open()
        it.client.ask(7, "kept")
        it.client.ask(7, "kept")
        agent.write(b"sync")
        await agent.read()
        await agent.hang_up()
        for answer in await it.client.reads(2):
            assert (answer["id"], answer["error"]["data"]["reason"]) == (7, "component_exited")
        assert await it.exit_code() == 1


@pytest.mark.requirement("conductor.death-open-requests")
async def test_request_that_a_running_proxy_does_not_answer_gets_an_error() -> None:
    stand = PlayedComponent("mute")
    async with chain_harness(stand.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        proxy = await stand.peer()
        await proxy.read()
        proxy.write({"jsonrpc": "2.0", "id": 1, "result": VERSION_ONE})
        await it.client.read()
        it.client.ask(7, "a")
        it.client.ask(7, "b")
        await proxy.reads(2)
        await (await it.agent()).hang_up()
        for answer in await it.client.reads(2):
            assert (answer["id"], answer["error"]["data"]["component"]) == (7, "agent")
        assert await it.exit_code() == 1


@pytest.mark.requirement("conductor.state-closed")
async def test_requests_after_an_exit_get_the_reason() -> None:
    async with chain_harness() as it:
        agent = await it.open()
        it.client.ask(1, "session/prompt", {})
        await agent.read()
        await agent.hang_up()
        it.client.ask(2, "session/new", {})
        answers = await it.client.reads(2)
        assert {answer["error"]["data"]["reason"] for answer in answers} == {"component_exited"}


@pytest.mark.requirement("conductor.death-while-starting")
async def test_exit_during_initialize_is_its_error_and_a_second_try_starts_again() -> None:
    stands = [PlayedComponent(), PlayedComponent()]
    left = iter(stands)
    upper = inner(name="upper")
    async with chain_harness(choose=lambda _: Blueprint([upper], next(left).component)) as it:
        it.client.ask(1, "initialize", VERSION_ONE)
        agent = await stands[0].peer()
        await agent.read()
        await agent.hang_up()
        error = (await it.client.read())["error"]
        assert (error["data"]["reason"], error["data"]["index"]) == ("component_exited", 1)
        it.client.ask(2, "initialize", VERSION_ONE)
        agent = await stands[1].peer()
        agent.answer(await agent.read(), VERSION_ONE)
        assert (await it.client.read())["result"] == VERSION_ONE
        await it.client.hang_up()
        assert await it.exit_code() == 0


@pytest.mark.requirement("conductor.death-served")
async def test_served_component_that_returns_or_raises_counts_as_exited() -> None:
    async def serve(transport: Transport) -> None:
        peer = Peer(transport)
        peer.answer(await peer.read(), VERSION_ONE)
        await peer.read()
        raise LookupError("oops")

    async with chain_harness(agent=Served("quits", serve)) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        await it.client.read()
        it.client.ask(1, "session/prompt", {})
        assert (await it.client.read())["error"]["data"]["component"] == "quits"
        assert await it.exit_code() == 1


@pytest.mark.requirement("conductor.peer-answers-twice", "conductor.peer-unknown-id")
async def test_second_responses_and_unknown_responses_are_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with chain_harness() as it:
        agent = await it.open()
        it.client.ask(1, "a")
        request = await agent.read()
        agent.answer(request, "once")
        agent.answer(request, "twice")
        assert (await it.client.read())["result"] == "once"
        assert "agent answered" not in caplog.text
        for name in (999, "who", -1):
            agent.answer({"id": name}, "what?")
        agent.tell("next", {})
        assert (await it.client.read())["method"] == "next"
    assert caplog.text.count("which it was never asked") == 3
    assert "agent answered id 999" in caplog.text


@pytest.mark.requirement("conductor.peer-prints-text", "peers.plain-text-on-stdout")
async def test_text_among_the_messages_is_refused_and_logged_and_the_chain_continues(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with chain_harness() as it:
        agent = await it.open()
        agent.write(b"Loading model...")
        refusal = await agent.read()
        assert (refusal["id"], refusal["error"]["code"]) == (None, -32700)
        assert refusal["error"]["data"]["line"] == "Loading model..."
        for line in (b"{}", b"[", b'"text"', b'{"jsonrpc":"2.0","id":{},"method":"m"}'):
            agent.write(line)
            assert (await agent.read())["error"]["code"] in {-32700, -32600}
        agent.tell("next", {})
        assert (await it.client.read())["method"] == "next"
    assert "agent wrote an invalid message" in caplog.text
    assert "Loading model..." in caplog.text


@pytest.mark.requirement("conductor.bad-response-settles")
async def test_malformed_response_fails_its_request() -> None:
    async with chain_harness() as it:
        agent = await it.open()
        it.client.ask(1, "a")
        request = await agent.read()
        both = {"result": 1, "error": {"code": 1, "message": "x"}}
        agent.write({"jsonrpc": "2.0", "id": request["id"], **both})
        assert (await it.client.read())["error"]["code"] == -32603
        it.client.ask(2, "b")
        request = await agent.read()
        agent.write({"jsonrpc": "2.0", "id": request["id"]})
        assert await it.client.read() == {"jsonrpc": "2.0", "id": 2, "result": None}
        it.client.ask(3, "c")
        request = await agent.read()
        agent.write({"jsonrpc": "2.0", "id": request["id"], "result": 5, "error": None})
        assert await it.client.read() == {"jsonrpc": "2.0", "id": 3, "result": 5}


@pytest.mark.requirement("conductor.death-order")
async def test_last_messages_held_by_a_mod_arrive_before_the_error() -> None:
    class Slow(Mod):
        @from_agent("session/update")
        async def hold(self, message: ChainMessage) -> Forward:
            await asyncio.sleep(0)
            return Forward({**message.params, "held": True})

    async with chain_harness(*mods(Slow())) as it:
        agent = await it.open()
        it.client.ask(1, "session/prompt", {"sessionId": "s"})
        await agent.read()
        for number in range(5):
            agent.tell("session/update", {"sessionId": "s", "n": number})
        await agent.hang_up()
        messages = await it.client.reads(6)
        assert [one["params"]["n"] for one in messages[:5]] == [*range(5)]
        assert messages[5]["error"]["data"]["reason"] == "component_exited"


@pytest.mark.requirement("conductor.death-while-starting")
async def test_exit_while_a_mod_holds_the_response_to_initialize_ends_the_chain() -> None:
    holds, may_continue = asyncio.Event(), asyncio.Event()

    class Slow(Mod):
        @from_client("initialize")
        def greet(self, _: ChainMessage) -> Forward:
            async def wait(_: Answer) -> None:
                holds.set()
                await may_continue.wait()

            return Forward(then=wait)

    async with chain_harness(*mods(Slow())) as it:
        it.client.ask(1, "initialize", VERSION_ONE)
        agent = await it.agent()
        agent.answer(await agent.read(), VERSION_ONE)
        await holds.wait()
        await agent.hang_up()
        it.client.ask(2, "session/new")
        assert (await it.client.read())["id"] == 2  # arrives after the exit of the agent
        may_continue.set()
        assert (await it.client.read())["result"] == VERSION_ONE
        assert await it.exit_code() == 1


@pytest.mark.requirement("conductor.nothing-kept")
async def test_finished_requests_leave_no_state() -> None:
    async with chain_harness(inner(), *mods(Mod())) as it:
        agent = await it.open()
        for number in range(20):
            it.client.ask(number, "a")
            request = await agent.read()
            it.client.tell("$/cancel_request", {"requestId": number})
            await agent.read()
            agent.answer(request, number)
            agent.ask("x", "b")
            it.client.answer((await it.client.reads(2))[1], 1)
            await agent.read()
        link = it.conductor.client
        assert (link.asked, link.serving, link.open) == ({}, {}, {})
        assert link.state is PeerState.READY


@pytest.mark.requirement("conductor.cancelled-whole")
async def test_conductor_canceled_while_it_ends_leaves_nothing_behind() -> None:
    async with chain_harness(inner(), settings=Settings(quiet_grace=60)) as it:
        agent = await it.open()
        it.client.ask(1, "session/prompt", {})
        await agent.read()
        await it.client.hang_up()
        # An invalid message is answered even now, after the end has begun.
        agent.write(b"sync", b"sync")
        await agent.reads(2)
        assert not it.running.done()
        it.running.cancel()
        await agent.ended()
        with pytest.raises(asyncio.CancelledError):
            await it.running


@pytest.mark.requirement("conductor.cancelled-whole")
async def test_conductor_ends_its_components_when_it_is_canceled() -> None:
    stand = PlayedComponent("proxy")
    async with chain_harness(stand.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        proxy, agent = await stand.peer(), await it.agent()
        await proxy.read()
        it.running.cancel()
        await proxy.ended()
        await agent.ended()
        with pytest.raises(asyncio.CancelledError):
            await it.running

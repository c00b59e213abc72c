"""JSON-RPC through a whole chain: batches, cancellations, handlers, and lines of any length."""

import asyncio
import json
from typing import Any

import pytest
from tests.support.chain_harness import (
    VERSION_ONE,
    ChainHarness,
    PlayedComponent,
    bare,
    chain_harness,
    inner,
    mods,
    proxy_harness,
)

from peerwire.errors import PARSE_ERROR, REQUEST_CANCELLED
from symposium.chain.messages import ChainMessage
from symposium.chain.mod import Drop, Forward, Mod, Reply, from_agent, from_client
from symposium.testing import FakeAgent, chain_of

CANCEL = "$/cancel_request"


class Letters(Mod):
    """Appends a letter to each message."""

    def __init__(self, letter: str) -> None:
        self.letter = letter

    @from_client("_x/note", "_x/ask")
    def mark(self, message: ChainMessage) -> Forward:
        message.params["by"] = message.params.get("by", "") + self.letter
        return Forward(message.params)


class Answering(Mod):
    """Handles one method, and forwards another."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.seen: list[str] = []

    @from_client("_x/taken", "_x/passed")
    def take(self, message: ChainMessage) -> Reply | Forward:
        self.seen.append(message.method)
        return Reply(self.answer) if message.method == "_x/taken" else Forward()


class Consumer(Mod):
    """Drops a notification."""

    @from_agent("_x/secret")
    def swallow(self, _: ChainMessage) -> Drop:
        return Drop()


async def cancelled_turn(it: ChainHarness) -> None:
    """Let the client cancel a turn; return what the agent receives and the result."""
    agent = await it.open()
    it.client.ask("turn", "session/prompt", {"sessionId": "s", "prompt": []})
    turn = await agent.read()
    it.client.tell(CANCEL, {"requestId": "turn"})
    cancel = await agent.read()
    assert cancel == {"jsonrpc": "2.0", "method": CANCEL, "params": {"requestId": turn["id"]}}
    agent.refuse(turn, REQUEST_CANCELLED)
    answer = await it.client.read()
    assert (answer["id"], answer["error"]["code"]) == ("turn", REQUEST_CANCELLED)


@pytest.mark.requirement("jsonrpc.batch-split-hop", "jsonrpc.batch-never-originated")
async def test_batch_passes_message_by_message_and_is_answered_in_one_array() -> None:
    ask: dict[str, Any] = {"jsonrpc": "2.0", "method": "session/list"}
    note: dict[str, Any] = {"jsonrpc": "2.0", "method": "_x/note"}
    async with chain_harness(*mods(Mod()), inner()) as it:
        agent = await it.open()
        it.client.write([{**ask, "id": 1}, note, {**ask, "id": 2}])
        first, notification, second = await agent.reads(3)
        assert (first["method"], notification["method"]) == ("session/list", "_x/note")
        agent.answer(second, {"sessions": [2]})
        agent.answer(first, {"sessions": [1]})
        answers = await it.client.read()
        assert [(each["id"], each["result"]) for each in answers] == [
            (1, {"sessions": [1]}),
            (2, {"sessions": [2]}),
        ]
        assert it.conductor.client.open == {}


@pytest.mark.requirement("jsonrpc.order-replay-before-response")
async def test_updates_replayed_beside_the_response_arrive_before_it() -> None:
    async with chain_harness(*mods(Mod()), bare()[0]) as it:
        agent = await it.open()
        it.client.ask(1, "session/load", {"sessionId": "s", "cwd": "/", "mcpServers": []})
        asked = await agent.read()
        replay = [
            {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "n": at}}
            for at in range(3)
        ]
        agent.write([*replay, {"jsonrpc": "2.0", "id": asked["id"], "result": {}}])
        received = await it.client.reads(4)
        assert [each.get("params", {}).get("n") for each in received] == [0, 1, 2, None]
        assert received[3]["id"] == 1


@pytest.mark.requirement(
    "jsonrpc.cancel-forwarded-request",
    "jsonrpc.cancel-never-tunnelled",
    "jsonrpc.cancel-never-tunnelled-wrapped",
)
@pytest.mark.parametrize("kind", ["direct", "in process", "program", "nested"])
async def test_cancel_has_the_id_of_each_hop(kind: str) -> None:
    chains: dict[str, Any] = {
        "direct": [],
        "in process": mods(Mod(), Letters("a")),
        "program": [bare()[0]],
        "nested": [inner(*mods(Mod())), inner()],
    }
    async with chain_harness(*chains[kind]) as it:
        await cancelled_turn(it)


@pytest.mark.requirement(
    "jsonrpc.cancel-to-successor-is-wrapped", "jsonrpc.cancel-wrapped-reaches-wrapped"
)
async def test_cancel_to_and_from_a_successor_is_wrapped_with_the_outer_id() -> None:
    stand = PlayedComponent("proxy")
    async with chain_harness(stand.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        proxy = await stand.peer()
        initialize = await proxy.read()
        proxy.ask(1, "_proxy/successor", {"method": "initialize", "params": VERSION_ONE})
        agent = await it.agent()
        agent.answer(await agent.read(), VERSION_ONE)
        assert (await proxy.read())["id"] == 1
        proxy.answer(initialize, VERSION_ONE)
        assert "result" in await it.client.read()

        proxy.ask(2, "_proxy/successor", {"method": "session/list", "params": {}})
        asked = await agent.read()
        proxy.tell("_proxy/successor", {"method": CANCEL, "params": {"requestId": 2}})
        assert (await agent.read())["params"] == {"requestId": asked["id"]}
        agent.answer(asked, {"sessions": []})
        assert await proxy.read() == {"jsonrpc": "2.0", "id": 2, "result": {"sessions": []}}

        agent.ask("permit", "session/request_permission", {"sessionId": "s"})
        wrapped = await proxy.read()
        agent.tell(CANCEL, {"requestId": "permit"})
        assert await proxy.read() == {
            "jsonrpc": "2.0",
            "method": "_proxy/successor",
            "params": {"method": CANCEL, "params": {"requestId": wrapped["id"]}},
        }


@pytest.mark.requirement("jsonrpc.cancel-wrapped-unhandled")
@pytest.mark.parametrize("method", [CANCEL, "$/progress", "$/unheard-of"])
async def test_protocol_notification_in_an_envelope_does_no_harm(method: str) -> None:
    async with proxy_harness(*mods(Mod())) as (outer, _):
        outer.ask(0, "_proxy/initialize", VERSION_ONE)
        initialize = await outer.read()
        outer.answer(initialize, VERSION_ONE)
        assert (await outer.read())["id"] == 0
        inside = {"method": method, "params": {"requestId": "unknown"}}
        outer.tell("_proxy/successor", inside)
        outer.ask(1, "_proxy/successor", {"method": "_x/ask", "params": {}})
        received = await outer.read()
        if received["method"] == method:
            received = await outer.read()
        assert received["method"] == "_x/ask"


@pytest.mark.requirement("jsonrpc.cancel-editor-gone")
async def test_requests_of_a_client_are_canceled_when_it_disconnects() -> None:
    async with chain_harness(*mods(Mod())) as it:
        agent = await it.open()
        it.client.ask(1, "session/prompt", {"sessionId": "s", "prompt": []})
        it.client.ask(2, "session/prompt", {"sessionId": "t", "prompt": []})
        turns = await agent.reads(2)
        await it.client.hang_up()
        cancels = await agent.reads(2)
        assert {each["method"] for each in cancels} == {CANCEL}
        named = [each["params"]["requestId"] for each in cancels]
        assert sorted(named) == sorted(turn["id"] for turn in turns)


@pytest.mark.requirement("jsonrpc.cancel-later-handler")
async def test_protocol_notification_reaches_components_that_join_later() -> None:
    seen: list[str] = []

    class Late(Mod):
        @from_client("$/progress")
        def note(self, message: ChainMessage) -> Forward:
            seen.append(message.method)
            return Forward()

    async with chain_harness(*mods(Letters("a"), Late())) as it:
        agent = await it.open()
        it.client.tell("$/progress", {"token": 1})
        assert (await agent.read())["method"] == "$/progress"
        assert seen == ["$/progress"]


@pytest.mark.requirement("jsonrpc.cancel-session-cancel")
async def test_session_cancel_is_an_ordinary_notification_and_both_forms_may_be_sent() -> None:
    async with chain_harness(inner(*mods(Mod()))) as it:
        agent = await it.open()
        it.client.ask(1, "session/prompt", {"sessionId": "s", "prompt": []})
        turn = await agent.read()
        it.client.tell("session/cancel", {"sessionId": "s"})
        it.client.tell(CANCEL, {"requestId": 1})
        notification = await agent.reads(2)
        assert [each["method"] for each in notification] == ["session/cancel", CANCEL]
        agent.answer(turn, {"stopReason": "cancelled"})
        assert (await it.client.read())["result"] == {"stopReason": "cancelled"}


@pytest.mark.requirement("jsonrpc.cancel-setup")
async def test_initialize_and_a_new_session_can_be_canceled() -> None:
    async with chain_harness(*mods(Mod())) as it:
        it.client.ask("opening", "initialize", VERSION_ONE)
        agent = await it.agent()
        initialize = await agent.read()
        it.client.tell(CANCEL, {"requestId": "opening"})
        assert (await agent.read())["params"] == {"requestId": initialize["id"]}
        agent.answer(initialize, VERSION_ONE)
        assert (await it.client.read())["result"] == VERSION_ONE
        it.client.ask("new", "session/new", {"cwd": "/", "mcpServers": []})
        asked = await agent.read()
        it.client.tell(CANCEL, {"requestId": "new"})
        assert (await agent.read())["params"] == {"requestId": asked["id"]}
        agent.refuse(asked, REQUEST_CANCELLED)
        assert (await it.client.read())["error"]["code"] == REQUEST_CANCELLED
        it.client.ask("again", "session/new", {"cwd": "/", "mcpServers": []})
        agent.answer(await agent.read(), {"sessionId": "s"})
        assert (await it.client.read())["result"] == {"sessionId": "s"}


@pytest.mark.requirement("jsonrpc.forward-never-received")
async def test_request_fails_with_no_response_received_when_its_connection_ends() -> None:
    async with chain_harness(*mods(Mod())) as it:
        agent = await it.open()
        it.client.ask(1, "session/prompt", {"sessionId": "s", "prompt": []})
        await agent.read()
        await agent.hang_up()
        answer = await it.client.read()
        assert (answer["id"], answer["error"]["code"]) == (1, -32603)
        assert answer["error"]["data"]["reason"] == "component_exited"


@pytest.mark.requirement("jsonrpc.handler-may-edit", "jsonrpc.handler-deep-chain")
@pytest.mark.parametrize("depth", [2, 1000])
async def test_each_handler_sees_the_edits_of_earlier_handlers(depth: int) -> None:
    async with chain_harness(*mods(*(Letters(chr(97 + at % 26)) for at in range(depth)))) as it:
        agent = await it.open()
        it.client.ask(1, "_x/ask", {})
        asked = await agent.read()
        assert asked["params"]["by"] == "".join(chr(97 + at % 26) for at in range(depth))
        agent.answer(asked, {})
        assert (await it.client.read())["id"] == 1


@pytest.mark.requirement("jsonrpc.handler-first-match", "jsonrpc.handler-fallthrough")
async def test_first_handler_to_claim_a_message_decides_and_others_get_the_rest() -> None:
    first, second = Answering("first"), Answering("second")
    async with chain_harness(*mods(first, second)) as it:
        agent = await it.open()
        it.client.ask(1, "_x/taken", {})
        assert (await it.client.read())["result"] == "first"
        it.client.ask(2, "_x/passed", {})
        agent.answer(await agent.read(), "the agent")
        assert (await it.client.read())["result"] == "the agent"
        assert first.seen == ["_x/taken", "_x/passed"]
        assert second.seen == ["_x/passed"]


@pytest.mark.requirement("jsonrpc.handler-may-consume")
async def test_dropped_message_reaches_no_later_handler() -> None:
    async with chain_harness(*mods(Mod(), Consumer())) as it:
        agent = await it.open()
        agent.tell("_x/secret", {})
        agent.tell("_x/open", {})
        assert (await it.client.read())["method"] == "_x/open"


@pytest.mark.requirement("jsonrpc.handler-connection-as-component")
async def test_set_of_handlers_can_be_a_component() -> None:
    agent = FakeAgent("How do you do.")
    async with chain_of(Mod(), agent=agent) as editor:
        await editor.initialize()
        await editor.new_session()
        assert (await editor.prompt("Hello")).text == "How do you do."


@pytest.mark.requirement("jsonrpc.session-config-options-kept")
async def test_config_options_of_a_new_session_reach_the_client() -> None:
    options = [{"id": "model", "name": "Model", "type": "select", "currentValue": "a"}]
    agent = FakeAgent()
    agent.requests["session/new"] = lambda _: {"sessionId": "s", "configOptions": options}
    async with chain_of("pass", "tag", agent=agent) as editor:
        await editor.initialize()
        made = await editor.connection.request("session/new", {"cwd": "/", "mcpServers": []})
        assert made == {"sessionId": "s", "configOptions": options}


@pytest.mark.requirement("jsonrpc.line-10-mib")
async def test_line_of_ten_megabytes_passes_both_ways_in_order() -> None:
    text = "x" * (10 * 1024 * 1024)
    async with chain_harness(*mods(Mod()), inner()) as it:
        agent = await it.open()
        it.client.tell("_x/before", {})
        it.client.ask(1, "session/prompt", {"sessionId": "s", "prompt": [text]})
        it.client.tell("_x/after", {})
        before, turn, after = await agent.reads(3)
        assert (before["method"], after["method"]) == ("_x/before", "_x/after")
        assert turn["params"]["prompt"] == [text]
        agent.tell("_x/before", {})
        agent.answer(turn, {"text": text})
        agent.tell("_x/after", {})
        before, answer, after = await it.client.reads(3)
        assert (before["method"], after["method"]) == ("_x/before", "_x/after")
        assert answer["result"] == {"text": text}


@pytest.mark.requirement("jsonrpc.unit-outgoing-readiness")
async def test_messages_behind_initialize_are_sent_after_its_response() -> None:
    stand = PlayedComponent("proxy")
    async with chain_harness(stand.component) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        proxy = await stand.peer()
        initialize = await proxy.read()
        agent = await it.agent()
        agent.ask("early", "session/request_permission", {"sessionId": "s"})
        agent.write(b"what is no message is answered when all before it has been routed")
        assert (await agent.read())["error"]["code"] == PARSE_ERROR
        assert not proxy.unread
        proxy.refuse(initialize, -32603, "cannot")
        assert "error" in await it.client.read()
        answer = await agent.read()
        assert (answer["id"], "error" in answer) == ("early", True)
        assert not proxy.unread


@pytest.mark.requirement("jsonrpc.batch-second-completion")
@pytest.mark.parametrize("second", ["result", "error"])
async def test_second_answer_to_a_single_request_is_dropped(second: str) -> None:
    async with chain_harness(bare()[0], inner()) as it:
        agent = await it.open()
        it.client.ask("one", "_x/ask")
        asked = await agent.read()
        agent.answer(asked, "first")
        if second == "result":
            agent.answer(asked, "second")
        else:
            agent.refuse(asked, -32000)
        it.client.ask("two", "_x/ask")
        agent.answer(await agent.read(), "other")

        answers = await it.client.reads(2)

        assert [(each["id"], each["result"]) for each in answers] == [
            ("one", "first"),
            ("two", "other"),
        ]
        assert not it.client.unread


@pytest.mark.requirement("jsonrpc.error-relayed")
@pytest.mark.parametrize(
    "error",
    [
        b'{"code":-32000,"message":"Authentication required","data":"log in"}',
        b'{"code":-1,"message":"","data":{"b":[1.0,null,"\\ud800"],"a":12345678901234567890}}',
        b'{"code":2147483648,"message":"no data"}',
    ],
)
async def test_error_crosses_a_chain_with_equal_bytes_both_ways(error: bytes) -> None:
    async with chain_harness(*mods(Letters("x")), inner(*mods(Letters("y"))), inner()) as it:
        agent = await it.open()
        for asking, answering in ((it.client, agent), (agent, it.client)):
            asking.ask("one", "_x/ask")
            asked = await answering.read()
            answering.write(
                b'{"jsonrpc":"2.0","id":%s,"error":%s}' % (json.dumps(asked["id"]).encode(), error)
            )
            assert b'"error":' + error + b"}" in await asking.line()


@pytest.mark.requirement("acp.role-conductor-alone-initializes-proxies")
async def test_client_cannot_initialize_a_chain_as_a_proxy() -> None:
    async with chain_harness(*mods(Letters("x"))) as it:
        it.client.ask(0, "_proxy/initialize", VERSION_ONE)
        assert (await it.client.read())["error"]["code"] == -32600


@pytest.mark.requirement("conductor.end-agent-first")
async def test_agent_is_ended_before_the_mods_in_front_of_it() -> None:
    ended: list[str] = []
    stands = [PlayedComponent("first"), PlayedComponent("second")]
    async with chain_harness(*(stand.component for stand in stands)) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        for stand in stands:
            proxy = await stand.peer()
            initialize = await proxy.read()
            inside = {"method": "initialize", "params": initialize["params"]}
            proxy.ask("initialize", "_proxy/successor", inside)
        agent = await it.agent()
        agent.answer(await agent.read(), VERSION_ONE)
        named = {"agent": agent, **{each.component.name: await each.peer() for each in stands}}

        async def note(name: str) -> None:
            await named[name].over.wait()
            ended.append(name)

        async with asyncio.TaskGroup() as tasks:
            for name in ("first", "second", "agent"):
                tasks.create_task(note(name))
            await it.client.hang_up()
    assert ended[0] == "agent"
    assert sorted(ended) == ["agent", "first", "second"]

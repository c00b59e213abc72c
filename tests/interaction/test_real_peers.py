"""Behavior of real agents and clients on the wire, and chains that handle it (peers.md)."""

import json
from typing import Any

import pytest
from tests.support.chain_harness import (
    VERSION_ONE,
    ChainHarness,
    Peer,
    bare,
    chain_harness,
    inner,
    mods,
)

from symposium.chain.blueprint import Component
from symposium.chain.mod import Mod
from symposium.mods.tag import Tag
from symposium.testing import FakeAgent, chain_of

PERMIT = "session/request_permission"


def three_mods() -> list[Component]:
    """One mod in process without handlers, one proxy without peerwire, one nested conductor."""
    return [*mods(Mod()), bare("other")[0], inner(*mods(Mod()))]


async def from_agent(it: ChainHarness, agent: Peer, message: dict[str, Any]) -> Any:
    """Send this message from the agent; return what the client receives."""
    agent.write(message)
    return await it.client.read()


def update(body: dict[str, Any]) -> dict[str, Any]:
    params = {"sessionId": "s", "update": body}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def tool_call(kind: str, **members: Any) -> dict[str, Any]:
    return update({"sessionUpdate": kind, "toolCallId": "call-1", **members})


@pytest.mark.requirement("peers.session-methods-all")
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("method", ["load", "list", "resume", "fork", "close", "delete"])
async def test_every_session_method_passes(method: str, version: int) -> None:
    async with chain_harness(*three_mods()) as it:
        agent = await it.open({"protocolVersion": version}, {"protocolVersion": version})
        it.client.ask(7, f"session/{method}", {"sessionId": "s", "cwd": "/w", "x": [1.50]})
        asked = await agent.read()
        assert asked["method"] == f"session/{method}"
        assert asked["params"] == {"sessionId": "s", "cwd": "/w", "x": [1.50]}
        agent.answer(asked, {"sessions": [], "of": method})
        assert (await it.client.read())["result"] == {"sessions": [], "of": method}


@pytest.mark.requirement("peers.opencode-uninvited-write")
async def test_unannounced_write_is_the_clients_to_refuse_and_the_agent_continues() -> None:
    async with chain_harness(*three_mods()) as it:
        agent = await it.open()
        agent.ask(0, "fs/write_text_file", {"sessionId": "s", "path": "/x", "content": ""})
        it.client.refuse(await it.client.read(), -32601, "fs/write_text_file")
        assert (await agent.read())["error"]["code"] == -32601
        received = await from_agent(it, agent, update({"sessionUpdate": "plan", "entries": []}))
        assert received["params"]["update"]["sessionUpdate"] == "plan"


@pytest.mark.requirement("peers.gemini-permission-only", "peers.tool-call-update-alone")
async def test_tool_call_may_be_announced_anywhere_or_twice_or_not_at_all() -> None:
    said = [
        tool_call("tool_call_update", status="in_progress"),
        tool_call("tool_call", title="one"),
        tool_call("tool_call", title="the same again"),
    ]
    async with chain_harness(*three_mods()) as it:
        agent = await it.open()
        announced = {"sessionId": "s", "toolCall": {"toolCallId": "call-2", "kind": "edit"}}
        agent.ask("p", PERMIT, {**announced, "options": []})
        asked = await it.client.read()
        assert asked["params"]["toolCall"] == announced["toolCall"]
        for message in said:
            assert await from_agent(it, agent, message) == message


@pytest.mark.requirement("peers.qwen-long-line", "peers.line-half-megabyte")
@pytest.mark.parametrize("size", [65_536, 131_073, 564_421])
async def test_line_of_half_a_megabyte_passes_unchanged(size: int) -> None:
    empty = update({"sessionUpdate": "available_commands_update", "x": ""})
    filling = "é" * ((size - len(json.dumps(empty))) // 6)
    long = update({"sessionUpdate": "available_commands_update", "x": filling})
    async with chain_harness(*three_mods()) as it:
        agent = await it.open()
        assert await from_agent(it, agent, long) == long


@pytest.mark.requirement("peers.qwen-own-request", "peers.unknown-agent-methods")
async def test_custom_methods_of_an_agent_pass_and_are_answered() -> None:
    async with chain_harness(*three_mods()) as it:
        agent = await it.open()
        agent.ask(3, "craft/drainMidTurnQueue", {"sessionId": "s"})
        asked = await it.client.read()
        assert asked["method"] == "craft/drainMidTurnQueue"
        it.client.answer(asked, {"drained": []})
        assert await agent.read() == {"jsonrpc": "2.0", "id": 3, "result": {"drained": []}}
        notice = {"jsonrpc": "2.0", "method": "qwen/notify/quota", "params": {"left": 0}}
        assert await from_agent(it, agent, notice) == notice


@pytest.mark.requirement("peers.vibe-user-chunks", "peers.mode-ids-are-urls")
async def test_echoes_of_the_prompt_and_unusual_ids_pass_unchanged() -> None:
    content = {"type": "text", "text": "what I said"}
    mode = {"sessionUpdate": "current_mode_update", "currentModeId": "https://x.test/m#a"}
    async with chain_harness(*three_mods()) as it:
        agent = await it.open()
        echo = update({"sessionUpdate": "user_message_chunk", "content": content})
        assert await from_agent(it, agent, echo) == echo
        assert await from_agent(it, agent, update(mode)) == update(mode)


@pytest.mark.requirement("peers.fastagent-client-tools")
@pytest.mark.parametrize(
    "method",
    ["fs/read_text_file", "fs/write_text_file"]
    + [f"terminal/{name}" for name in ("create", "output", "wait_for_exit", "kill", "release")],
)
async def test_files_and_terminals_of_the_client_answer_the_agent(method: str) -> None:
    async with chain_harness(*three_mods()) as it:
        agent = await it.open()
        agent.ask(0, method, {"sessionId": "s", "path": "/w/a"})
        asked = await it.client.read()
        assert (asked["method"], asked["params"]) == (method, {"sessionId": "s", "path": "/w/a"})
        it.client.answer(asked, {"content": "text"})
        assert await agent.read() == {"jsonrpc": "2.0", "id": 0, "result": {"content": "text"}}


@pytest.mark.requirement("peers.openhands-ignores-cancel")
async def test_agent_that_ignores_a_cancel_answers_later() -> None:
    async with chain_harness(*three_mods()) as it:
        agent = await it.open()
        it.client.ask(1, "session/prompt", {"sessionId": "s", "prompt": []})
        turn = await agent.read()
        it.client.tell("session/cancel", {"sessionId": "s"})
        assert (await agent.read())["method"] == "session/cancel"
        it.client.ask(2, "session/list", {})
        agent.answer(await agent.read(), {"sessions": []})
        assert (await it.client.read())["id"] == 2
        agent.answer(turn, {"stopReason": "end_turn"})
        assert await it.client.read() == {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {"stopReason": "end_turn"},
        }


@pytest.mark.requirement("peers.old-adapters-silent-after-error")
async def test_agent_silent_after_a_refusal_leaves_one_open_request() -> None:
    async with chain_harness(*three_mods()) as it:
        agent = await it.open()
        it.client.ask(1, "session/prompt", {"sessionId": "s", "prompt": []})
        await agent.read()
        agent.ask("permit", PERMIT, {"sessionId": "s", "toolCall": {}, "options": []})
        it.client.refuse(await it.client.read(), -32601)
        assert "error" in await agent.read()
        it.client.tell("$/cancel_request", {"requestId": 1})
        assert (await agent.read())["method"] == "$/cancel_request"
        await agent.hang_up()
        answer = await it.client.read()
        assert (answer["id"], "error" in answer) == (1, True)


@pytest.mark.requirement("peers.ids-from-zero", "peers.old-adapters-string-ids")
@pytest.mark.parametrize("name", [0, "7b1c-uuid", "", 2**63, -1, 1.5])
async def test_any_id_returns_unchanged(name: Any) -> None:
    async with chain_harness(*three_mods()) as it:
        agent = await it.open()
        it.client.ask(name, "session/list", {})
        agent.answer(await agent.read(), {"sessions": []})
        assert (await it.client.read())["id"] == name
        agent.ask(name, PERMIT, {"sessionId": "s", "toolCall": {}, "options": []})
        it.client.answer(await it.client.read(), {"outcome": {"outcome": "cancelled"}})
        assert (await agent.read())["id"] == name


@pytest.mark.requirement("peers.ids-both-directions")
async def test_one_id_open_in_both_directions_gives_each_side_its_own_response() -> None:
    async with chain_harness(*three_mods()) as it:
        agent = await it.open()
        it.client.ask(0, "session/prompt", {"sessionId": "s", "prompt": []})
        turn = await agent.read()
        agent.ask(turn["id"], PERMIT, {"sessionId": "s", "toolCall": {}, "options": []})
        permission = await it.client.read()
        it.client.answer(permission, {"outcome": {"outcome": "selected", "optionId": "a"}})
        granted = await agent.read()
        assert granted["id"] == turn["id"]
        assert granted["result"]["outcome"]["optionId"] == "a"
        agent.answer(turn, {"stopReason": "end_turn"})
        answer = await it.client.read()
        assert (answer["id"], answer["result"]) == (0, {"stopReason": "end_turn"})


@pytest.mark.requirement("peers.notification-answered")
async def test_responses_to_notifications_are_dropped() -> None:
    refusal = {"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "no"}}
    async with chain_harness(*three_mods()) as it:
        agent = await it.open()
        it.client.write(*[refusal] * 12)
        it.client.ask(1, "session/list", {})
        asked = await agent.read()
        assert asked["method"] == "session/list"
        agent.answer(asked, {"sessions": []})
        assert (await it.client.read())["id"] == 1
        assert not it.client.unread
        assert not agent.unread


@pytest.mark.requirement("peers.auth-status-before-new")
async def test_messages_before_the_session_new_response_reach_the_client_before_it() -> None:
    status = {"jsonrpc": "2.0", "method": "_auth/status_update", "params": {"ok": True}}
    async with chain_harness(*three_mods()) as it:
        agent = await it.open()
        it.client.ask(1, "session/new", {"cwd": "/", "mcpServers": []})
        asked = await agent.read()
        agent.write(status, {"jsonrpc": "2.0", "id": asked["id"], "result": {"sessionId": "s"}})
        assert await it.client.read() == status
        assert (await it.client.read())["result"] == {"sessionId": "s"}


@pytest.mark.requirement("peers.errors-are-control-flow")
@pytest.mark.parametrize("code", [-32002, -32603])
@pytest.mark.parametrize("method", ["session/resume", "session/load"])
async def test_error_to_resume_arrives_unchanged_and_a_new_session_works_after_it(
    method: str, code: int
) -> None:
    async with chain_harness(*three_mods()) as it:
        agent = await it.open()
        it.client.ask(1, method, {"sessionId": "lost", "cwd": "/", "mcpServers": []})
        agent.refuse(await agent.read(), code, {"sessionId": "lost"})
        error = {"code": code, "message": "no", "data": {"sessionId": "lost"}}
        assert (await it.client.read())["error"] == error
        it.client.ask(2, "session/new", {"cwd": "/", "mcpServers": []})
        agent.answer(await agent.read(), {"sessionId": "fresh"})
        assert (await it.client.read())["result"] == {"sessionId": "fresh"}


@pytest.mark.requirement("peers.plain-text-on-stdout")
async def test_plain_text_between_messages_does_not_end_the_conversation() -> None:
    async with chain_harness(*three_mods()) as it:
        agent = await it.open()
        received = update({"sessionUpdate": "plan", "entries": []})
        agent.write(b"A new version of this agent is available!", received)
        assert await it.client.read() == received


@pytest.mark.requirement("peers.permission-options")
async def test_unusual_permission_options_pass_in_order_with_their_ids() -> None:
    options = [
        {"optionId": "reject", "kind": "reject_once", "name": "No"},
        {"optionId": "once", "kind": "allow_once", "name": "Yes"},
        {"optionId": "once-and-edit", "kind": "allow_once", "name": "Yes, edited"},
        {"optionId": "https://consent.test/x", "kind": "open_url", "name": "Read first"},
    ]
    async with chain_harness(*three_mods()) as it:
        agent = await it.open()
        agent.ask(0, PERMIT, {"sessionId": "s", "toolCall": {}, "options": options})
        asked = await it.client.read()
        assert asked["params"]["options"] == options
        it.client.answer(asked, {"outcome": {"outcome": "selected", "optionId": "once-and-edit"}})
        answer = await agent.read()
        assert answer["result"]["outcome"]["optionId"] == "once-and-edit"


@pytest.mark.requirement("peers.cancelled-prompt-merged")
async def test_prompt_after_a_canceled_one_is_a_separate_turn() -> None:
    async with chain_harness(*three_mods()) as it:
        agent = await it.open()
        it.client.ask(1, "session/prompt", {"sessionId": "s", "prompt": []})
        first = await agent.read()
        it.client.tell("session/cancel", {"sessionId": "s"})
        it.client.ask(2, "session/prompt", {"sessionId": "s", "prompt": []})
        assert (await agent.read())["method"] == "session/cancel"
        second = await agent.read()
        agent.answer(first, {"stopReason": "cancelled"})
        agent.answer(second, {"stopReason": "end_turn"})
        stops = [(answer["id"], answer["result"]) for answer in await it.client.reads(2)]
        assert stops == [(1, {"stopReason": "cancelled"}), (2, {"stopReason": "end_turn"})]


@pytest.mark.requirement(
    "peers.copilot-http-mcp", "peers.stdio-only-is-not-enough", "peers.openhands-http-mcp"
)
@pytest.mark.parametrize(
    ("capabilities", "mode", "expected"),
    [
        ({"http": True}, "auto", "http"),
        ({}, "auto", "stdio"),
        ({"http": True}, "stdio", "stdio"),
    ],
)
async def test_tools_of_mods_reach_agents_that_take_one_transport_only(
    capabilities: dict[str, bool], mode: Any, expected: str
) -> None:
    agent = FakeAgent()
    agent.capabilities = {"mcpCapabilities": capabilities}
    async with chain_of("echo", agent=agent, bridge=mode) as editor:
        await editor.initialize()
        await editor.new_session()
        setup = [it for it in agent.received.items if it.method == "session/new"]
        (server,) = setup[0].params["mcpServers"]
        assert ("url" in server, "command" in server) == (expected == "http", expected == "stdio")


@pytest.mark.requirement("peers.pairs-not-lowered")
async def test_conversation_is_the_same_with_and_without_three_mods() -> None:
    async def talk(*components: Component) -> list[Any]:
        async with chain_harness(*components) as it:
            agent = await it.open(VERSION_ONE, {**VERSION_ONE, "agentCapabilities": {"x": 1}})
            received: list[Any] = []
            it.client.ask(1, "session/new", {"cwd": "/w", "mcpServers": []})
            agent.answer(await agent.read(), {"sessionId": "s", "modes": None})
            received.append(await it.client.read())
            it.client.ask(2, "session/prompt", {"sessionId": "s", "prompt": []})
            turn = await agent.read()
            received.append(await from_agent(it, agent, tool_call("tool_call", title="t")))
            agent.ask(9, PERMIT, {"sessionId": "s", "toolCall": {}, "options": []})
            asked = await it.client.read()
            received.append(asked["params"])
            it.client.answer(asked, {"outcome": {"outcome": "cancelled"}})
            received.append(await agent.read())
            agent.answer(turn, {"stopReason": "refusal"})
            return [*received, await it.client.read()]

    assert await talk(*three_mods()) == await talk()
    assert await talk(*mods(Tag()), *three_mods()) != await talk()

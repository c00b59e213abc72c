"""Eliza as an agent on the wire: sessions, turns, and refused requests."""

import sys
from typing import Any

import pytest

from peerwire.errors import INVALID_PARAMS, RpcError
from peerwire.transports.command import Command
from symposium.chain.blueprint import Program
from symposium.testing import chain_of

GREETING = "How do you do. Please state your problem."


@pytest.mark.requirement("cli.eliza-acp")
async def test_eliza_is_a_program_on_standard_input_and_output() -> None:
    program = Program("eliza", Command((sys.executable, "-m", "symposium", "eliza")))
    async with chain_of("arrow", agent=program) as editor:
        turn = await editor.prompt("Hello")

    assert turn.text == f">{GREETING}"
    assert turn.stop_reason == "end_turn"


@pytest.mark.requirement("cli.eliza-acp")
async def test_eliza_declares_her_capabilities() -> None:
    async with chain_of(bridge="off") as editor:
        result = await editor.initialize()

    assert result["protocolVersion"] == 1
    assert result["agentCapabilities"]["loadSession"] is True
    assert not result["agentCapabilities"]["mcpCapabilities"].get("acp")


@pytest.mark.requirement("cli.eliza-acp", "cli.eliza-deterministic")
async def test_sessions_are_separate_conversations() -> None:
    async with chain_of("pass") as editor:
        first, second = await editor.new_session(), await editor.new_session()
        said = [
            (await editor.prompt("I remember the sea", session_id=session_id)).text
            for session_id in (first, first, second)
        ]

    assert first != second
    assert said[0] == said[2] != said[1]


@pytest.mark.requirement("cli.eliza-acp")
async def test_commands_are_announced_after_the_session_is_known() -> None:
    seen: list[int] = []
    async with chain_of("pass") as editor:
        await editor.initialize()
        await editor.connection.request(
            "session/new",
            {"cwd": "/", "mcpServers": []},
            on_result=lambda _: seen.append(len(editor.updates.items)),
        )
        update = await editor.until(
            lambda update: update["sessionUpdate"] == "available_commands_update"
        )

    assert seen == [0]
    assert [each["name"] for each in update["availableCommands"]] == ["list-tools", "use-tool"]


@pytest.mark.requirement("cli.eliza-load")
async def test_loaded_session_is_new_and_has_no_servers() -> None:
    servers: list[Any] = [{"name": "tools", "command": "/nowhere", "args": [], "env": []}]
    params: Any = {"sessionId": "of-yesterday", "cwd": "/", "mcpServers": servers}
    async with chain_of("pass") as editor:
        await editor.initialize()
        loaded = await editor.connection.request("session/load", params)
        initialized = await editor.prompt("Hello", session_id="of-yesterday")
        listed = await editor.prompt("list tools from tools", session_id="of-yesterday")

    assert loaded == {}
    assert initialized.text == GREETING
    assert listed.text.startswith("ERROR: ")
    assert "this session has no MCP servers" in listed.text


@pytest.mark.requirement("cli.eliza-acp")
async def test_closed_session_is_unknown() -> None:
    async with chain_of("pass") as editor:
        session_id = await editor.new_session()
        await editor.connection.request("session/close", {"sessionId": session_id})
        with pytest.raises(RpcError, match="unknown session"):
            await editor.prompt("Hello")


@pytest.mark.requirement("cli.eliza-acp")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/new", {"mcpServers": []}),
        ("session/prompt", {"sessionId": "missing", "prompt": []}),
        ("session/prompt", {"sessionId": 7, "prompt": []}),
        ("session/close", {"sessionId": "missing"}),
    ],
)
async def test_wrong_params_are_invalid_params(method: str, params: Any) -> None:
    async with chain_of("pass") as editor:
        await editor.initialize()
        with pytest.raises(RpcError) as caught:
            await editor.connection.request(method, params)
        turn = await editor.prompt("Hello")

    assert caught.value.code == INVALID_PARAMS
    assert turn.text == GREETING

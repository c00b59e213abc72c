"""Test agent with MCP servers: programs, URLs with headers, and mods behind ACP."""

import asyncio
import sys
from typing import Any

import pytest

from peerwire.errors import RpcError
from peerwire.jsonrpc.handlers import Request
from symposium.agents.testy.scenario import CallTool, ListTools, render_command
from symposium.testing import ECHO_SERVER, FakeEditor, Turn, chain_of

SILENT: dict[str, Any] = {
    "name": "silent",
    "command": sys.executable,
    "args": ["-c", "import sys; sys.stdin.read()"],
    "env": [],
}
GREET: dict[str, Any] = {"name": "greet", "description": "Greet.", "inputSchema": {}}
BEHIND_ACP = {"type": "acp", "name": "inside", "serverId": "mcp-server:1"}


def serve_tools(editor: FakeEditor) -> list[str]:
    """Let the editor be an MCP server behind ACP; return the received methods."""
    methods: list[str] = []

    def answer(request: Request) -> Any:
        methods.append(request.params["method"])
        match request.params:
            case {"method": "initialize"}:
                return {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}
            case {"method": "tools/list"}:
                return {"tools": [GREET]}
            case {"params": {"name": "greet", "arguments": {"who": who}}}:
                return {"content": [{"type": "text", "text": f"Hello, {who}!"}]}
            case _:
                raise RpcError(-32602, "no such tool")

    editor.answers["mcp/connect"] = lambda _: {"connectionId": "c-1"}
    editor.answers["mcp/message"] = answer
    editor.answers["mcp/disconnect"] = lambda _: {}
    return methods


@pytest.mark.requirement("cli.testy-commands")
async def test_tools_of_a_program_are_listed_and_called() -> None:
    async with chain_of("pass", agent="testy") as editor:
        await editor.new_session(servers=[ECHO_SERVER])
        listed = await editor.prompt(render_command(ListTools("echo")))
        called = await editor.prompt(render_command(CallTool("echo", "add", {"a": 2, "b": 3})))
        refused = await editor.prompt(render_command(CallTool("echo", "sing")))
        missing = await editor.prompt(render_command(ListTools("missing")))

    assert listed.text.splitlines()[:2] == ["Available tools:", "  - echo: Say the message again."]
    assert called.text == 'OK: [{"type":"text","text":"5"}]'
    assert refused.text.startswith("ERROR: ")
    assert missing.text == "ERROR: no MCP server is called missing"


@pytest.mark.requirement("cli.testy-commands", "bridge.mode-native")
async def test_server_behind_acp_is_reached_directly() -> None:
    async with chain_of("pass", agent="testy") as editor:
        methods = serve_tools(editor)
        await editor.new_session(servers=[BEHIND_ACP])
        listed = await editor.prompt(render_command(ListTools("inside")))
        called = await editor.prompt(render_command(CallTool("inside", "greet", {"who": "you"})))
        asked = [request.method for request in editor.asked.items]

    assert "  - greet: Greet." in listed.text
    assert "Hello, you!" in called.text
    assert methods == ["initialize", "tools/list", "initialize", "tools/call"]
    assert asked.count("mcp/connect") == asked.count("mcp/disconnect") == 2


@pytest.mark.requirement("cli.testy-cancel")
async def test_call_ends_when_the_turn_is_canceled() -> None:
    async with chain_of("pass", agent="testy") as editor:
        await editor.new_session(servers=[SILENT])
        turn = await cancelled(editor, render_command(CallTool("silent", "anything")))

    assert turn.stop_reason == "cancelled"


@pytest.mark.requirement("cli.testy-close-delete")
async def test_listing_ends_when_the_session_is_closed() -> None:
    async with chain_of("pass", agent="testy") as editor:
        session_id = await editor.new_session(servers=[SILENT])
        async with asyncio.TaskGroup() as tasks:
            prompt = tasks.create_task(editor.prompt(render_command(ListTools("silent"))))
            await editor.connection.request("session/set_mode", mode(session_id))
            await editor.connection.request("session/close", {"sessionId": session_id})

    assert prompt.result().stop_reason == "cancelled"


def mode(session_id: str) -> dict[str, str]:
    return {"sessionId": session_id, "modeId": "plan"}


async def cancelled(editor: FakeEditor, text: str) -> Turn:
    """Run a turn that is canceled as soon as the agent has it."""
    async with asyncio.TaskGroup() as tasks:
        prompt = tasks.create_task(editor.prompt(text))
        assert editor.session_id is not None
        # Answered after the prompt has arrived, since messages keep their order.
        await editor.connection.request("session/set_mode", mode(editor.session_id))
        editor.cancel()
    return prompt.result()

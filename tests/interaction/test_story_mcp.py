"""MCP servers of the editor, for agents that do not support their kind (users A-10)."""

import json
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from tests.support.chain_harness import chain_harness
from tests.support.web import serving

from peerwire.mcp.client import open_server
from symposium.bridge.bridge import bridge_components

TOKEN = "correct-horse-battery"  # noqa: S105 - of this test alone
TAKES_HTTP: dict[str, Any] = {
    "protocolVersion": 1,
    "agentCapabilities": {"mcpCapabilities": {"http": True}},
}
TAKES_STDIO: dict[str, Any] = {"protocolVersion": 1, "agentCapabilities": {}}
RESULTS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "web", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "say", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "said"}]},
}


def mcp(request: BaseHTTPRequestHandler) -> None:
    """Answer as an MCP server at a URL."""
    length = int(request.headers["Content-Length"])
    message = json.loads(request.rfile.read(length))
    if "id" not in message:
        request.send_response(202)
        request.send_header("Content-Length", "0")
        request.end_headers()
        return
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": RESULTS[message["method"]]}
    body = json.dumps(answer).encode()
    request.send_response(200)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


def declared(url: str) -> dict[str, Any]:
    header = {"name": "Authorization", "value": f"Bearer {TOKEN}"}
    return {"type": "http", "name": "web", "url": url, "headers": [header]}


@pytest.mark.requirement("stories.a-10-bridged")
async def test_server_at_a_url_reaches_an_agent_that_takes_programs_only() -> None:
    with serving() as server:
        server.answers["/mcp"] = mcp
        async with chain_harness(*bridge_components()) as it:
            agent = await it.open(result=TAKES_STDIO)
            params = {"cwd": "/", "mcpServers": [declared(server.url("/mcp"))]}
            it.client.ask(1, "session/new", params)
            request = await agent.read()
            (declaration,) = request["params"]["mcpServers"]
            assert declaration["name"] == "web"
            assert "command" in declaration
            # Symposium knows the token; the agent gets only a way to Symposium.
            assert TOKEN not in json.dumps(declaration)
            agent.answer(request, {"sessionId": "s"})
            async with open_server(declaration) as reached:
                assert (await reached.call_tool("say")).text == "said"
        assert {headers["Authorization"] for _, headers in server.asked} == {f"Bearer {TOKEN}"}


@pytest.mark.requirement("stories.a-10-bridged")
async def test_agent_that_takes_urls_gets_the_declaration_unchanged() -> None:
    async with chain_harness(*bridge_components()) as it:
        agent = await it.open(result=TAKES_HTTP)
        params = {"cwd": "/", "mcpServers": [declared("http://127.0.0.1:1/mcp")]}
        it.client.ask(1, "session/new", params)
        assert (await agent.read())["params"] == params


@pytest.mark.requirement("stories.a-10-bridged")
async def test_unreachable_server_is_a_separate_error() -> None:
    async with chain_harness(*bridge_components()) as it:
        agent = await it.open(result=TAKES_STDIO)
        params = {"cwd": "/", "mcpServers": [declared("http://127.0.0.1:1/mcp")]}
        it.client.ask(1, "session/new", params)
        request = await agent.read()
        agent.answer(request, {"sessionId": "s"})
        (declaration,) = request["params"]["mcpServers"]
        with pytest.raises(Exception, match=r"127\.0\.0\.1"):
            async with open_server(declaration):
                pass
        assert (await it.client.read())["result"] == {"sessionId": "s"}

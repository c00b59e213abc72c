"""Test agent with an MCP server at a URL, with the headers of its declaration."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from symposium.agents.testy.scenario import CallTool, ListTools, render_command
from symposium.testing import chain_of

RESULTS: dict[str, dict[str, Any]] = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}},
    "tools/list": {"tools": [{"name": "greet", "inputSchema": {}}]},
    "tools/call": {"content": [{"type": "text", "text": "Hello!"}]},
}


@asynccontextmanager
async def http_server() -> AsyncGenerator[tuple[str, list[dict[str, str]]], None]:
    """Serve MCP on the loopback address; return its URL and the headers of each request."""
    requests: list[dict[str, str]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()[1:-1]
        except asyncio.IncompleteReadError:
            writer.close()
            return
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head)}
        requests.append(headers)
        message = json.loads(await reader.readexactly(int(headers["content-length"])))
        answer = b"" if "id" not in message else json.dumps(answer_to(message)).encode()
        status = b"200 OK" if answer else b"202 Accepted"
        writer.write(b"HTTP/1.1 %b\r\nContent-Type: application/json\r\n" % status)
        writer.write(b"Content-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(answer), answer))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/mcp", requests


def answer_to(message: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message["id"], "result": RESULTS[message["method"]]}


def declared(url: str, *headers: tuple[str, str]) -> dict[str, Any]:
    listed = [{"name": name, "value": value} for name, value in headers]
    return {"type": "http", "name": "remote", "url": url, "headers": listed}


@pytest.mark.requirement("cli.testy-http-headers")
async def test_headers_of_the_declaration_are_sent_with_every_request() -> None:
    async with http_server() as (url, requests), chain_of("pass", agent="testy") as editor:
        headers = ("Authorization", "Bearer a  b=="), ("X-Empty", "")
        await editor.new_session(servers=[declared(url, *headers)])
        listed = await editor.prompt(render_command(ListTools("remote")))
        called = await editor.prompt(render_command(CallTool("remote", "greet")))

    assert "greet" in listed.text
    assert "Hello!" in called.text
    assert len(requests) >= 4
    assert {request["authorization"] for request in requests} == {"Bearer a  b=="}
    assert {request["x-empty"] for request in requests} == {""}


@pytest.mark.requirement("cli.testy-http-headers")
@pytest.mark.parametrize(
    "header", [("X-Two", "one\r\nX-Other: two"), ("X Space", "v"), ("", "v"), ("X-Nul", "a\0b")]
)
async def test_malformed_header_is_refused_and_nothing_is_sent(header: tuple[str, str]) -> None:
    async with http_server() as (url, requests), chain_of("pass", agent="testy") as editor:
        await editor.new_session(servers=[declared(url, header)])
        turn = await editor.prompt(render_command(ListTools("remote")))

    assert turn.text.startswith("ERROR: ")
    assert "header" in turn.text
    assert requests == []

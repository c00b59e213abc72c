"""Symposium's MCP client with servers that are programs or at URLs."""

import asyncio
import base64
import gzip
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from peerwire.errors import INVALID_PARAMS, PeerwireError, RpcError, SpawnError
from peerwire.mcp import streamable_http
from peerwire.mcp.client import open_server
from peerwire.mcp.session import McpClientSession, McpError

ECHO = {"name": "echo", "command": sys.executable, "args": ["-m", "peerwire.mcp.echo_server"]}


# -- the echo server


@pytest.mark.requirement("cli.testing-echo-server")
async def test_program_is_started_listed_called_and_ended() -> None:
    async with open_server(ECHO) as server:
        assert [tool.name for tool in await server.list_tools()] == ["echo", "add"]
        assert (await server.call_tool("echo", {"message": "hi"})).text == "Echo: hi"
        assert (await server.call_tool("add", {"a": 2, "b": 40})).text == "42"
        for name, arguments in (("nope", {}), ("add", {"a": "2", "b": 1})):
            with pytest.raises(RpcError) as caught:
                await server.call_tool(name, arguments)
            assert caught.value.code == INVALID_PARAMS


@pytest.mark.requirement("bridge.client-errors")
def test_echo_server_survives_broken_lines() -> None:
    lines = [b"nonsense", b"[]", b'{"id":1,"method":"ping"}', b'{"method":"x"}', b'{"id":2}']
    done = subprocess.run(
        [sys.executable, "-m", "peerwire.mcp.echo_server"],
        input=b"\n".join(lines),
        capture_output=True,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer.get("error", {}).get("code") for answer in answers] == [-32700, -32600, None]


@pytest.mark.requirement("bridge.client-stdio")
async def test_environment_of_a_declaration_reaches_its_program() -> None:
    code = "import os,sys; sys.exit(int(os.environ['CODE']))"
    declaration = {
        "name": "short-lived",
        "command": sys.executable,
        "args": ["-c", code],
        "env": [{"name": "CODE", "value": "7"}],
    }
    with pytest.raises(PeerwireError, match="exited with code 7"):
        async with open_server(declaration):
            pass


@pytest.mark.requirement("bridge.client-stdio")
async def test_missing_program_is_named() -> None:
    with pytest.raises(SpawnError, match="no-such-program"):
        async with open_server({"name": "x", "command": "no-such-program"}):
            pass


@pytest.mark.requirement("bridge.client-stdio")
async def test_server_that_does_not_answer_times_out() -> None:
    declaration = {"name": "mute", "command": sys.executable, "args": ["-c", "input();input()"]}
    with pytest.raises(McpError, match=r"mute: initialize timed out after 0\.1 s"):
        async with open_server(declaration, seconds=0.1):
            pass


@pytest.mark.requirement("bridge.client-stdio")
@pytest.mark.parametrize(
    "declaration",
    [
        {"name": "x", "type": "sse", "url": "http://localhost"},
        {"name": "x"},
        {"name": "x", "type": "acp", "serverId": "s"},
        {"name": "x", "type": "http", "url": "ftp://localhost"},
        {"name": "x", "type": "http", "url": "http://[broken"},
    ],
)
async def test_unusable_declaration_is_refused(declaration: dict[str, Any]) -> None:
    with pytest.raises(McpError):
        async with open_server(declaration):
            pass


@pytest.mark.requirement("bridge.client-errors")
async def test_exception_of_the_block_is_raised_unchanged() -> None:
    with pytest.raises(ZeroDivisionError):
        async with open_server(ECHO):
            raise ZeroDivisionError


@pytest.mark.requirement("bridge.client-errors")
async def test_abandoned_call_is_canceled_by_mcp(tmp_path: Path) -> None:
    code = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        print(json.dumps({"id": message["id"], "result": {}}), flush=True)
    with open(sys.argv[1], "a") as file:
        file.write(json.dumps([message.get(name) for name in ("method", "id", "params")]))
        file.write("\\n")
"""
    seen = tmp_path / "seen"
    declaration = {"name": "x", "command": sys.executable, "args": ["-c", code, str(seen)]}
    async with open_server(declaration) as server:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await server.call_tool("slow")
    *_, call, cancelled = map(json.loads, seen.read_text().splitlines())
    assert call[0] == "tools/call"
    assert cancelled == ["notifications/cancelled", None, {"requestId": call[1]}]


# -- HTTP

Answer = Callable[[str, dict[str, Any]], bytes]


@asynccontextmanager
async def http_server(answer: Answer) -> AsyncGenerator[tuple[McpClientSession, list[str]], None]:
    """Connect to a server that answers each POST with these bytes, including headers."""
    heads: list[str] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        heads.append(head)
        size = next(
            int(line.partition(":")[2])
            for line in head.splitlines()
            if line.lower().startswith("content-length")
        )
        body = json.loads(await reader.readexactly(size) or b"{}")
        writer.write(answer(head, body))
        writer.close()

    listening = await asyncio.start_server(take, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    headers = [{"name": "Authorization", "value": "Bearer x"}]
    url = f"http://127.0.0.1:{port}/mcp?q=1"
    declaration = {"type": "http", "name": "web", "url": url, "headers": headers}
    try:
        async with open_server(declaration) as server:
            yield server, heads
    finally:
        listening.close()


def json_answer(body: object, *headers: str) -> bytes:
    sent = json.dumps(body, indent=1).encode()
    lines = ["HTTP/1.1 200 OK", "Content-Type: application/json", f"Content-Length: {len(sent)}"]
    return "\r\n".join([*lines, *headers, "", ""]).encode() + sent


def good(head: str, body: dict[str, Any]) -> bytes:
    match body:
        case {"id": request_id, "method": "initialize"}:
            result = {"protocolVersion": "2025-06-18"}
            return json_answer({"id": request_id, "result": result}, "Mcp-Session-Id: abc")
        case {"id": request_id, "method": "ping"}:
            response = json.dumps({"id": request_id, "result": {"pong": 1}})
            head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
            notification = '{"jsonrpc":"2.0","method":"notifications/x"}'
            return f"{head}: hi\r\n\r\ndata: {notification}\r\n\r\ndata: {response}\n\n".encode()
        case {"id": _}:
            return b"HTTP/1.1 500 Oh\r\nContent-Length: 4\r\n\r\nsad!"
        case _:
            return b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.requirement("bridge.client-http")
async def test_json_and_events_are_read_and_the_session_is_used_and_ended(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG")
    async with http_server(good) as (server, heads):
        assert await server.wire.request("ping") == {"pong": 1}
        with pytest.raises(RpcError, match="answered HTTP 500: sad!"):
            await server.wire.request("tools/list")
    assert heads[0].startswith("POST /mcp?q=1 HTTP/1.1\r\n")
    assert all("authorization: Bearer x" in head.replace("Auth", "auth") for head in heads)
    assert "abc" not in heads[0]
    assert all("abc" in head for head in heads[1:])
    assert all("Connection: close\r\n" in head for head in heads)
    for head in heads[1:]:
        assert "MCP-Protocol-Version: 2025-06-18" in head
    assert heads[-1].startswith("DELETE ")
    assert "late answer" not in caplog.text  # each request is answered once


@pytest.mark.requirement("bridge.client-http")
async def test_json_of_several_lines_is_read_and_a_long_error_is_cut() -> None:
    def answer(head: str, body: dict[str, Any]) -> bytes:
        if body.get("method") == "ping":
            text = json.dumps({"jsonrpc": "2.0", "id": body["id"], "result": {"a": 1}}, indent=1)
            return f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{text}\n".encode()
        if body.get("method") == "tools/list":
            return b"HTTP/1.1 400 Bad Request\r\n\r\n" + b"y" * 300
        return good(head, body)

    async with http_server(answer) as (server, _):
        assert await server.wire.request("ping") == {"a": 1}
        with pytest.raises(RpcError) as error:
            await server.wire.request("tools/list")
    assert error.value.message.endswith(f": answered HTTP 400: {'y' * 200}")


@pytest.mark.requirement("bridge.client-http")
@pytest.mark.parametrize(
    "answered",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: cut",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
    ],
)
async def test_invalid_response_fails_its_request_without_a_hang(answered: bytes) -> None:
    def answer(head: str, body: dict[str, Any]) -> bytes:
        del head, body
        return answered

    with pytest.raises(RpcError, match=r"127\.0\.0\.1"):
        async with http_server(answer):
            pass


@pytest.mark.requirement("bridge.client-http")
@pytest.mark.parametrize(
    ("name", "value", "is_sent"),
    [("X-Key", "café", True), ("X-Key", "a\nb", False), ("é", "x", False)],
)
async def test_invalid_http_header_fails_like_an_invalid_response(
    name: str, value: str, *, is_sent: bool
) -> None:
    came = asyncio.Event()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        came.set()
        writer.close()

    listening = await asyncio.start_server(take, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
    header = {"name": name, "value": value}
    with pytest.raises(PeerwireError):
        async with open_server({"type": "http", "name": "x", "url": url, "headers": [header]}):
            pass
    listening.close()
    assert came.is_set() is is_sent


@pytest.mark.requirement("bridge.client-http")
async def test_session_id_of_any_bytes_is_sent_back_unchanged() -> None:
    id_ = "字é".encode()

    def answer(head: str, body: dict[str, Any]) -> bytes:
        return good(head, body).replace(b"Mcp-Session-Id: abc", b"Mcp-Session-Id: " + id_)

    async with http_server(answer) as (server, heads):
        assert await server.wire.request("ping") == {"pong": 1}
    assert all("Mcp-Session-Id: 字é\r\n" in head for head in heads[1:])


@pytest.mark.requirement("bridge.client-http")
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_response_beyond_the_limit_fails_its_request(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamable_http, "MAX_LINE", 1000)

    def answer(head: str, body: dict[str, Any]) -> bytes:
        if body.get("method") != "ping":
            return good(head, body)
        return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\ndata: {'x' * 1001}".encode()

    async with http_server(answer) as (server, _):
        with pytest.raises(RpcError, match="larger than 1000 bytes"):
            await server.wire.request("ping")


@pytest.mark.requirement("bridge.client-http")
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_response_of_exactly_the_limit_is_accepted(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(head: str, body: dict[str, Any]) -> bytes:
        if body.get("method") != "ping":
            return good(head, body)
        said = json.dumps({"jsonrpc": "2.0", "id": body["id"], "result": {}})
        # The blank line that ends an event is no part of it.
        text = f"data: {said}" if kind == "text/event-stream" else said
        monkeypatch.setattr(streamable_http, "MAX_LINE", len(text))
        end = "\n\n" if kind == "text/event-stream" else ""
        return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n{text}{end}".encode()

    async with http_server(answer) as (server, _):
        assert await server.wire.request("ping") == {}


@pytest.mark.requirement("bridge.client-http")
async def test_compressed_response_is_not_unpacked() -> None:
    packed = gzip.compress(b'{"id": 1, "result": {}}')
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n"

    def answer(_: str, __: dict[str, Any]) -> bytes:
        return head.encode() + packed

    with pytest.raises(RpcError, match="ended its answer before it was complete"):
        async with http_server(answer):
            pass


@pytest.mark.requirement("bridge.client-http")
async def test_redirect_of_a_server_is_not_followed() -> None:
    to = b"HTTP/1.1 307 Go\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"
    heads: list[str] = []

    def answer(head: str, body: dict[str, Any]) -> bytes:
        del body
        heads.append(head.split(" ", 2)[1])
        return to

    with pytest.raises(RpcError):
        async with http_server(answer):
            pass
    assert set(heads) == {"/mcp?q=1"}


@pytest.mark.requirement("bridge.client-http")
async def test_request_without_a_response_does_not_delay_the_next() -> None:
    came, over = asyncio.Event(), asyncio.Event()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        size = int(head.lower().partition("content-length: ")[2].partition("\r\n")[0])
        body = json.loads(await reader.readexactly(size) or b"{}")
        if body.get("method") == "slow":
            came.set()
            await over.wait()
            writer.write(json_answer({"id": body["id"], "result": {"slow": 1}}))
        else:
            writer.write(good(head, body))
        writer.close()

    listening = await asyncio.start_server(take, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
    async with (
        open_server({"type": "http", "name": "x", "url": url}) as server,
        asyncio.TaskGroup() as tasks,
    ):
        slow = tasks.create_task(server.wire.request("slow"))
        await came.wait()
        async with asyncio.timeout(30):
            assert await server.wire.request("ping") == {"pong": 1}
        assert not slow.done()
        over.set()
    assert slow.result() == {"slow": 1}
    listening.close()


@pytest.mark.requirement("bridge.client-http")
async def test_missing_server_is_reported_as_unreachable() -> None:
    listening = await asyncio.start_server(_no_server, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    listening.close()
    await listening.wait_closed()
    url = f"http://127.0.0.1:{port}/"
    with pytest.raises(PeerwireError, match=str(port)):
        async with open_server({"type": "http", "name": "gone", "url": url}):
            pass


@pytest.mark.requirement("bridge.url-credentials")
async def test_user_and_password_of_a_url_are_sent_and_in_no_error() -> None:
    heads: list[str] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.close()

    listening = await asyncio.start_server(take, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    url = f"http://us%20er:se%2Fcret@127.0.0.1:{port}/mcp"
    with pytest.raises(PeerwireError, match=str(port)) as caught:
        async with open_server({"type": "http", "name": "x", "url": url}):
            pass
    headers = [
        {"name": "authorization", "value": "Bearer x"},
        {"name": "x-other", "value": "y"},
    ]
    with pytest.raises(PeerwireError):
        async with open_server({"type": "http", "name": "x", "url": url, "headers": headers}):
            pass
    listening.close()

    encoded = base64.b64encode(b"us er:se/cret").decode()
    assert f"Authorization: Basic {encoded}\r\n" in heads[0]
    assert "Basic" not in heads[1], "a header of the declaration replaces it"
    assert "se%2Fcret" not in str(caught.value)
    assert "se/cret" not in str(caught.value)


@pytest.mark.requirement("bridge.url-credentials")
@pytest.mark.parametrize(
    "url",
    [
        "ftp://user:secret@host/x",
        "http://user:secret@host:port/x",
        "http://user:se/secret@host/x",
        "http://user:se?secret@host/x",
        "http://user:se#secret@host/x",
        "http://user:secret@[bad/x",
        "user:secret@host",
    ],
)
async def test_unusable_url_is_named_without_its_password(url: str) -> None:
    with pytest.raises(PeerwireError) as caught:
        async with open_server({"type": "http", "name": "x", "url": url}):
            pass

    assert "secret" not in repr(caught.value)
    assert "secret" not in repr(caught.value.__cause__)


def _no_server(*_: Any) -> Awaitable[None] | None:
    raise AssertionError("there must be no connection")

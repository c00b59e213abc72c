"""Shim that agents start, and the port of the bridge to which it connects."""

import ast
import asyncio
import json
import random
import socket
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from peerwire.jsonrpc.handlers import Request
from peerwire.mcp.client import open_server
from symposium.bridge import shim, stdio_endpoint
from symposium.bridge.stdio_endpoint import SHIM, TOKEN_VARIABLE
from symposium.chain.conductor import Settings
from symposium.chain.debug_log import open_debug_log
from symposium.chain.trace import open_trace
from symposium.testing import FakeAgent, FakeEditor, chain_of

TIMEOUT = 45.0
SERVER = {"type": "acp", "name": "own", "serverId": "server-1"}


async def start_shim(*words: str, said: str = "secret") -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-I", "-S", str(SHIM), *words),
        env={TOKEN_VARIABLE: said} if said else {},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


class FakeBridge:
    """Port that records its received lines, and writes lines of the test."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.writer: asyncio.StreamWriter | None = None
        self.news = asyncio.Condition()
        self.is_over = False

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        while line := await reader.readline():
            self.lines.append(line)
            async with self.news:
                self.news.notify_all()
        self.is_over = True
        writer.close()

    async def count(self, number: int) -> list[bytes]:
        async with asyncio.timeout(TIMEOUT), self.news:
            await self.news.wait_for(lambda: len(self.lines) >= number)
        return self.lines


@asynccontextmanager
async def fake_bridge() -> AsyncGenerator[tuple[FakeBridge, str], None]:
    bridge = FakeBridge()
    server = await asyncio.start_server(bridge.take, "127.0.0.1", 0)
    yield bridge, str(server.sockets[0].getsockname()[1])
    server.close()
    if bridge.writer is not None:
        bridge.writer.close()


# -- the program


@pytest.mark.requirement("bridge.stdio-shim-copies", "bridge.security-shim-token")
async def test_lines_pass_both_ways_in_order_after_the_token() -> None:
    async with fake_bridge() as (bridge, port):
        process = await start_shim(port)
        assert process.stdin is not None
        assert process.stdout is not None
        sent = [b'{"n":%d}\n' % number for number in range(200)] + [
            b'{"big":"%b"}\n' % (b"x" * 40_000)
        ]
        process.stdin.write(b"".join(sent) + b"\n")
        assert await bridge.count(202) == [b"secret\n", *sent]
        assert bridge.writer is not None
        bridge.writer.write(b"".join(sent))
        async with asyncio.timeout(TIMEOUT):
            got = [await process.stdout.readline() for _ in sent]
            assert got == sent
            process.stdin.close()
            assert await process.wait() == 0
    assert bridge.is_over


@pytest.mark.requirement("bridge.stdio-shim-copies")
async def test_output_of_the_bridge_after_the_end_of_input_still_arrives() -> None:
    async with fake_bridge() as (bridge, port):
        process = await start_shim(port)
        await bridge.count(1)
        assert bridge.writer is not None
        bridge.writer.write(b'{"last":1}\n')
        async with asyncio.timeout(TIMEOUT):
            out, _ = await process.communicate(b"")
        assert (out, process.returncode) == (b'{"last":1}\n', 0)


@pytest.mark.requirement("bridge.stdio-shim-copies")
async def test_shim_exits_with_the_bridge() -> None:
    async with fake_bridge() as (bridge, port):
        process = await start_shim(port)
        await bridge.count(1)
        assert bridge.writer is not None
        bridge.writer.close()
        async with asyncio.timeout(TIMEOUT):
            assert await process.wait() == 0


@pytest.mark.requirement("bridge.stdio-shim-invalid-json")
@pytest.mark.parametrize("line", [b"hello\n", b'{"a":}\n', b"[[[" * 5000 + b"\n"])
async def test_line_that_is_not_json_ends_the_shim_with_an_error(line: bytes) -> None:
    async with fake_bridge() as (bridge, port):
        process = await start_shim(port)
        async with asyncio.timeout(TIMEOUT):
            out, err = await process.communicate(line)
        assert (process.returncode, out) == (1, b"")
        assert b"not JSON" in err
        assert bridge.lines == [b"secret\n"]


@pytest.mark.requirement("bridge.stdio-shim-retries")
async def test_bridge_that_starts_a_moment_later_is_found() -> None:
    async with fake_bridge() as (_, port):
        pass
    process = await start_shim(port)
    bridge = FakeBridge()
    server = await asyncio.start_server(bridge.take, "127.0.0.1", int(port))
    assert await bridge.count(1) == [b"secret\n"]
    server.close()
    async with asyncio.timeout(TIMEOUT):
        await process.communicate(b"")


@pytest.mark.requirement("bridge.stdio-shim-retries")
def test_missing_bridge_is_tried_ten_times_and_then_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waited, tried = list[float](), list[object]()
    connect = socket.create_connection

    def noted(address: tuple[str, int]) -> socket.socket:
        tried.append(address)
        return connect(address)

    monkeypatch.setattr(shim.socket, "create_connection", noted)
    monkeypatch.setattr(shim.time, "sleep", waited.append)
    monkeypatch.setenv(TOKEN_VARIABLE, "secret")
    with socket.socket() as bound:
        # Bound but not listening: the kernel refuses, and no other process gets the port.
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        assert shim.main([str(port)]) == 1
    assert tried == [("127.0.0.1", port)] * 10
    assert waited == [0.05, 0.1, 0.2, 0.4, 0.8, 1, 1, 1, 1]
    assert f"nothing listens on port {port}" in capsys.readouterr().err


@pytest.mark.requirement("bridge.stdio-shim-retries")
@pytest.mark.parametrize("words", [[], ["x"], ["0"], ["65536"], ["1", "2"], ["-1"]])
def test_shim_started_by_hand_prints_its_purpose(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert shim.main(words) == 2
    assert "only agents start this program" in capsys.readouterr().err


@pytest.mark.requirement("bridge.security-shim-token")
async def test_shim_without_a_token_does_not_start() -> None:
    process = await start_shim("4711", said="")
    async with asyncio.timeout(TIMEOUT):
        _, err = await process.communicate(b"")
    assert process.returncode == 2
    assert TOKEN_VARIABLE.encode() in err


@pytest.mark.requirement("bridge.stdio-shim-standard-library")
def test_shim_imports_the_standard_library_only() -> None:
    tree = ast.parse(Path(shim.__file__).read_text())
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [a.name for a in node.names]
        )
    }
    assert imported
    assert imported <= sys.stdlib_module_names


# -- the port


class Owner:
    """Editor as the owner of a server that echoes."""

    def __init__(self, editor: FakeEditor) -> None:
        self.editor = editor
        self.connected: list[str] = []
        self.ended: list[str] = []
        editor.answers["mcp/connect"] = self._connect
        editor.answers["mcp/message"] = self._answer
        editor.answers["mcp/disconnect"] = self._disconnect

    def _connect(self, _: Request) -> dict[str, Any]:
        self.connected.append(f"c{len(self.connected) + 1}")
        return {"connectionId": self.connected[-1]}

    def _answer(self, request: Request) -> Any:
        return {"method": request.params["method"], "by": request.params["connectionId"]}

    def _disconnect(self, request: Request) -> dict[str, Any]:
        self.ended.append(request.params["connectionId"])
        return {}


@asynccontextmanager
async def opened(
    settings: Settings | None = None,
) -> AsyncGenerator[tuple[dict[str, Any], Owner], None]:
    agent = FakeAgent()
    agent.requests["session/close"] = lambda _: {}
    async with chain_of("pass", agent=agent, bridge="stdio", settings=settings) as editor:
        owner = Owner(editor)
        await editor.new_session(servers=[SERVER])
        yield agent.received.items[-1].params["mcpServers"][0], owner


def port_and_token(declaration: Mapping[str, Any]) -> tuple[int, bytes]:
    return int(declaration["args"][-1]), declaration["env"][0]["value"].encode()


@pytest.mark.requirement("bridge.stdio-shim-connection", "bridge.life-agent-closes")
async def test_each_connection_of_a_shim_is_one_mcp_connection() -> None:
    async with opened() as (declaration, owner):
        async with open_server(declaration) as one, open_server(declaration) as other:
            assert owner.connected == ["c1", "c2"]
            answers = [await server.wire.request("ping") for server in (one, other)]
            assert [answer["by"] for answer in answers] == ["c1", "c2"]
        await owner.editor.asked.until(lambda _: len(owner.ended) == 2)
        assert sorted(owner.ended) == ["c1", "c2"]


@pytest.mark.requirement("bridge.life-session-end", "bridge.life-agent-closes")
async def test_owner_gets_disconnects_of_clients_when_the_last_session_ends() -> None:
    async with opened() as (declaration, owner), open_server(declaration):
        await owner.editor.connection.request("session/close", {"sessionId": "session-1"})
        await owner.editor.asked.until(lambda _: owner.ended == ["c1"])


@pytest.mark.requirement("bridge.life-owner-dies")
async def test_connection_of_the_shim_ends_when_the_owner_disconnects() -> None:
    async with opened() as (declaration, owner):
        port, token = port_and_token(declaration)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(token + b'\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        async with asyncio.timeout(TIMEOUT):
            assert json.loads(await reader.readline())["result"]["by"] == "c1"
            await owner.editor.connection.request("mcp/disconnect", {"connectionId": "c1"})
            assert await reader.read() == b""
        writer.close()


@pytest.mark.requirement("bridge.cancel-not-tunnelled", "bridge.message-server-to-client")
async def test_request_canceled_by_the_server_is_canceled_by_mcp() -> None:
    async with opened() as (declaration, owner):
        port, token = port_and_token(declaration)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(token + b'\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        async with asyncio.timeout(TIMEOUT), asyncio.TaskGroup() as tasks:
            await reader.readline()
            asked = {"connectionId": "c1", "method": "roots/list"}
            work = owner.editor.connection.request("mcp/message", asked)
            asking = tasks.create_task(work)
            question = json.loads(await reader.readline())
            asking.cancel()
            cancelled = json.loads(await reader.readline())
        writer.close()
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"] == {"requestId": question["id"]}


@pytest.mark.requirement("bridge.security-shim-token")
@pytest.mark.parametrize("said", [b"\n", b"wrong\n", b"x" * 500, b'{"jsonrpc":"2.0","id":1}\n'])
async def test_connection_without_the_token_is_closed(said: bytes) -> None:
    async with opened() as (declaration, owner):
        port, _ = port_and_token(declaration)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(said)
        with suppress(ConnectionResetError):
            async with asyncio.timeout(TIMEOUT):
                assert await reader.read() == b""
        writer.close()
        assert owner.connected == []


@pytest.mark.requirement("bridge.security-shim-token")
async def test_silent_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio_endpoint, "INITIALIZE_TIMEOUT", 0.01)
    async with opened() as (declaration, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", port_and_token(declaration)[0])
        async with asyncio.timeout(TIMEOUT):
            assert await reader.read() == b""
        writer.close()


@pytest.mark.requirement("bridge.stdio-shim-invalid-json")
async def test_broken_lines_are_answered_and_end_nothing() -> None:
    chance = random.Random(7)  # noqa: S311 - the same in each run
    async with opened() as (declaration, _):
        port, token = port_and_token(declaration)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(token + b"\n")
        for _ in range(300):
            writer.write(chance.randbytes(chance.randrange(80)) + b"\n")
        writer.write(b'{"jsonrpc":"2.0","id":"end","method":"ping"}\n')
        async with asyncio.timeout(TIMEOUT):
            while (answer := json.loads(await reader.readline()))["id"] != "end":
                assert answer["error"]["code"] in {-32700, -32600}
            assert answer["result"]["method"] == "ping"
        writer.close()


@pytest.mark.requirement("bridge.security-token-hidden")
async def test_token_is_in_no_argument_log_or_trace(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    trace, log = open_trace(tmp_path), open_debug_log(tmp_path)
    settings = Settings(watcher=trace, tap=log.tap, on_stderr=log.on_stderr)
    async with opened(settings) as (declaration, _):
        _, token = port_and_token(declaration)
        async with open_server(declaration) as server:
            await server.wire.request("ping")
        assert token.decode() not in str(declaration["args"])
    trace.close()
    log.file.close()
    written = [file.path.read_bytes() for file in (trace.file, log.file)]
    assert b"SYMPOSIUM_MCP_TOKEN" in b"".join(written)
    for text in (*written, caplog.text.encode()):
        assert token not in text

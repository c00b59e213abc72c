"""Access control of the HTTP server (users §7, E-4)."""

import json
from collections.abc import MutableMapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.mcp_server.transports import (
    ADDRESS,
    Guard,
    Receive,
    Scope,
    Send,
    ServingError,
    open_listener,
    token_of,
)

TOKEN = "a-token-hard-to-guess"  # noqa: S105 - of this test
HOST = (b"host", b"127.0.0.1:4242")
SHOWN = (b"authorization", b"Bearer a-token-hard-to-guess")


async def answer_to(
    headers: list[tuple[bytes, bytes]], method: str = "POST", raw_path: bytes = b"/mcp"
) -> tuple[int, dict[bytes, bytes], bytes]:
    """Status, headers, and body of a response."""
    sent: list[MutableMapping[str, Any]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request"}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": "/mcp", "headers": headers}
    scope |= {"raw_path": raw_path}
    await Guard(app, TOKEN)(scope, receive, send)
    begin, *rest = sent
    assert begin["type"] == "http.response.start"
    body = b"".join(each["body"] for each in rest if each["type"] == "http.response.body")
    return begin["status"], dict(begin["headers"]), body


async def status_for(
    headers: list[tuple[bytes, bytes]], method: str = "POST", raw_path: bytes = b"/mcp"
) -> int:
    return (await answer_to(headers, method, raw_path))[0]


@pytest.mark.requirement("mcp-server.http-guard")
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    "headers",
    [
        [HOST],
        [SHOWN],
        [HOST, (b"authorization", b"Bearer an-old-token")],
        [HOST, (b"authorization", b"Basic a-token-hard-to-guess")],
        [HOST, (b"authorization", b"")],
        [HOST, SHOWN, SHOWN],
        [HOST, HOST, SHOWN],
        [(b"host", b"evil.example"), SHOWN],
        [(b"host", b"127.0.0.1.evil.example"), SHOWN],
        [(b"host", b"127.0.0.1:80:80"), SHOWN],
        [(b"host", b"127.0.0.1@evil.example"), SHOWN],
        [(b"host", b"127.0.0.1:"), SHOWN],
        [(b"host", b"127.0.0.1:0"), SHOWN],
        [(b"host", b"127.0.0.1:65536"), SHOWN],
        [(b"host", b"127.0.0.1:99999"), SHOWN],
        [HOST, SHOWN, (b"origin", b"https://evil.example")],
        [(b"host", b"http://127.0.0.1"), SHOWN],
        [HOST, SHOWN, (b"origin", b"127.0.0.1")],
        [HOST, SHOWN, (b"origin", b"null")],
        [HOST, SHOWN, (b"origin", b"http://localhost.evil.example")],
        [HOST, SHOWN, (b"origin", b"http://localhost"), (b"origin", b"http://localhost")],
    ],
)
async def test_unauthorized_request_is_refused(
    headers: list[tuple[bytes, bytes]], method: str
) -> None:
    status, its_headers, body = await answer_to(headers, method)

    assert status == 403
    assert its_headers == {
        b"content-type": b"application/json",
        b"content-length": str(len(body)).encode(),
    }
    assert json.loads(body) == {"error": "forbidden: send the token, from this machine"}


@pytest.mark.requirement("mcp-server.http-guard")
@pytest.mark.parametrize(
    "headers",
    [
        [HOST, SHOWN],
        [(b"Host", b"localhost"), SHOWN],
        [(b"host", b"[::1]:99"), (b"Authorization", b"bearer a-token-hard-to-guess")],
        [HOST, SHOWN, (b"origin", b"http://127.0.0.1:4242")],
    ],
)
async def test_authorized_request_is_accepted(headers: list[tuple[bytes, bytes]]) -> None:
    assert await status_for(headers) == 200


@pytest.mark.requirement("mcp-server.plain-path")
@pytest.mark.parametrize("raw_path", [b"%2fmcp", b"/%6dcp", b"/mcp%2f..", b"//mcp"])
async def test_path_with_escapes_is_not_found(raw_path: bytes) -> None:
    assert await status_for([HOST, SHOWN], raw_path=raw_path) == 404
    assert await status_for([HOST], raw_path=raw_path) == 403


@pytest.mark.requirement("mcp-server.http-guard")
@given(st.lists(st.tuples(st.sampled_from([b"host", b"origin", b"authorization"]), st.binary())))
def test_malformed_headers_are_refused(headers: list[tuple[bytes, bytes]]) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None: ...

    assert Guard(app, TOKEN).allows(headers) is False


@pytest.mark.requirement("mcp-server.http-guard")
async def test_websocket_is_closed() -> None:
    sent: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive, send
        raise AssertionError

    async def receive() -> MutableMapping[str, Any]:
        return {}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message["type"])

    await Guard(app, TOKEN)({"type": "websocket", "headers": [HOST, SHOWN]}, receive, send)

    assert sent == ["websocket.close"]


@pytest.mark.requirement("mcp-server.http-guard")
def test_server_listens_only_on_loopback() -> None:
    with open_listener(0, {}).listener as listener:
        taken = listener.getsockname()

        assert taken[0] == ADDRESS == "127.0.0.1"
        with pytest.raises(ServingError, match="cannot open port"):
            open_listener(taken[1], {})


@pytest.mark.requirement("mcp-server.http-guard")
def test_weak_token_is_refused() -> None:
    assert token_of({"SYMPOSIUM_MCP_TOKEN": TOKEN}) == TOKEN
    assert len(token_of({})) > 40
    assert token_of({}) != token_of({})
    assert token_of({"SYMPOSIUM_MCP_TOKEN": "x" * 16}) == "x" * 16
    for weak in ("", "x" * 15, "has\nline breaks in it", "\u00e4" * 16):
        with pytest.raises(ServingError):
            token_of({"SYMPOSIUM_MCP_TOKEN": weak})

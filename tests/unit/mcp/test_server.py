"""Answers of a server, valid and invalid, as a client reads them."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from peerwire.errors import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Request
from peerwire.mcp.session import AcpMcpConnections, McpClientSession, McpError, McpTool


class ScriptedWire:
    """Answers each request with the next of these, and remembers what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, Any]] = []

    async def request(self, method: str, params: Any = None) -> Any:
        self.asked.append((method, params))
        return self.answers.pop(0)

    def notify(self, method: str, params: Any = None) -> None:
        self.asked.append((method, params))


@pytest.mark.requirement("bridge.client-protocol")
async def test_a_server_is_initialized_before_it_is_used() -> None:
    wire = ScriptedWire({"protocolVersion": "2024-11-05"})
    server = McpClientSession("s", wire)
    await server.initialize()
    assert server.initialize_result == {"protocolVersion": "2024-11-05"}
    assert [method for method, _ in wire.asked] == ["initialize", "notifications/initialized"]
    assert wire.asked[0][1]["protocolVersion"] == "2025-11-25"


@pytest.mark.requirement("bridge.client-protocol")
async def test_tools_are_read_page_by_page_to_the_end() -> None:
    pages: Sequence[Any] = (
        {"tools": [{"name": "a", "inputSchema": {"type": "object"}}], "nextCursor": "2"},
        {"tools": [{"name": "b", "description": "B."}], "nextCursor": None},
    )
    wire = ScriptedWire(*pages)
    assert await McpClientSession("s", wire).list_tools() == [
        McpTool("a", None, {"type": "object"}),
        McpTool("b", "B.", {}),
    ]
    assert [params for _, params in wire.asked] == [{}, {"cursor": "2"}]


@pytest.mark.requirement("bridge.client-protocol")
async def test_list_ends_when_a_server_names_the_same_page_again() -> None:
    page: Any = {"tools": [{"name": "a"}], "nextCursor": "1"}
    assert len(await McpClientSession("s", ScriptedWire(page, page)).list_tools()) == 2


@pytest.mark.requirement("bridge.client-protocol")
async def test_a_result_says_its_text_and_whether_the_tool_failed() -> None:
    answer: Any = {
        "content": [
            {"type": "text", "text": "a"},
            {"type": "image"},
            {"type": "text", "text": "b"},
        ],
        "isError": True,
        "structuredContent": {"x": 1},
    }
    result = await McpClientSession("s", ScriptedWire(answer)).call_tool("t", {"p": 1})
    assert (result.text, result.is_error, result.structured) == ("a\nb", True, {"x": 1})


@pytest.mark.requirement("bridge.client-protocol")
@pytest.mark.parametrize("answer", [None, [], "x", {"content": ["x"]}])
async def test_what_is_no_result_of_a_tool_is_said_to_be_none(answer: Any) -> None:
    with pytest.raises(McpError, match="s answered tools/call"):
        await McpClientSession("s", ScriptedWire(answer)).call_tool("t")


NO_LISTS: list[Any] = [{"tools": [{}]}, {"tools": [None]}, None]


@pytest.mark.requirement("bridge.client-protocol")
@pytest.mark.parametrize("answer", NO_LISTS)
async def test_what_is_no_list_of_tools_is_said_to_be_none(answer: Any) -> None:
    with pytest.raises(McpError):
        await McpClientSession("s", ScriptedWire(answer)).list_tools()


class AcpWire(ScriptedWire):
    """An ACP connection, which posts requests too."""

    def post(self, method: str, params: Any) -> None:
        self.asked.append((method, params))


def connections_over(wire: AcpWire | None) -> AcpMcpConnections:
    connections = AcpMcpConnections()
    connections.connection = cast("Connection | None", wire)
    return connections


def of_server(connections: AcpMcpConnections, method: str, params: Any) -> Any:
    """Answer a request of the server, or return the code and the data of the error."""
    try:
        return connections.requests[method](Request(method, params, b"1"))
    except RpcError as error:
        return error.code, error.data


@pytest.mark.requirement("bridge.client-protocol")
async def test_server_without_a_connection_or_an_id_is_named_in_the_error() -> None:
    wire = AcpWire({"connectionId": 5})
    with pytest.raises(McpError, match=r"^s cannot be reached: there is no ACP connection yet$"):
        await connections_over(None).open("s").__aenter__()
    with pytest.raises(McpError, match=r"^s answered mcp/connect without a connectionId$"):
        await connections_over(wire).open("s").__aenter__()
    assert wire.asked == [("mcp/connect", {"serverId": "s"})]


@pytest.mark.requirement("bridge.client-protocol", "bridge.unknown-connection")
async def test_server_is_answered_only_on_its_open_connection() -> None:
    wire = AcpWire({"connectionId": "c"}, {"connectionId": "d"}, "result")
    connections = connections_over(wire)
    ping = {"connectionId": "c", "method": "ping"}
    unknown = {"reason": "unknown MCP connection", "connectionId": "c"}
    incomplete = "mcp/message needs connectionId and method"

    async with connections.open("s") as opened, connections.open("t"):
        assert await opened.request("m", {"p": 1}) == "result"
        opened.notify("n")
        assert of_server(connections, "mcp/message", ping) == {}
        other = of_server(connections, "mcp/message", ping | {"method": "roots/list"})
        assert other == (METHOD_NOT_FOUND, "roots/list")
        answer = of_server(connections, "mcp/message", {"connectionId": "c"})
        assert answer == (INVALID_PARAMS, incomplete)
        assert of_server(connections, "mcp/disconnect", {"connectionId": "c"}) == {}
        assert of_server(connections, "mcp/message", ping) == (INVALID_PARAMS, unknown)
        at_d = ping | {"connectionId": "d"}
        assert of_server(connections, "mcp/message", at_d) == {}
        assert of_server(connections, "mcp/disconnect", []) == {}
    unknown |= {"connectionId": "d"}
    assert of_server(connections, "mcp/message", at_d) == (INVALID_PARAMS, unknown)
    assert wire.asked == [
        ("mcp/connect", {"serverId": "s"}),
        ("mcp/connect", {"serverId": "t"}),
        ("mcp/message", {"connectionId": "c", "method": "m", "params": {"p": 1}}),
        ("mcp/message", {"connectionId": "c", "method": "n"}),
        ("mcp/disconnect", {"connectionId": "d"}),
        ("mcp/disconnect", {"connectionId": "c"}),
    ]

"""A tool server by itself: tools made of functions, shown, hidden and called."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec import Struct

from peerwire.errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from symposium.chain.tools import (
    LIST_CHANGED,
    Tool,
    ToolConnection,
    ToolContent,
    ToolContext,
    ToolServer,
)
from symposium.errors import SymposiumError


def echo(message: str) -> str:
    """Say the message again."""
    return f"Echo: {message}"


async def add(a: int, b: int = 1) -> int:
    """Add two whole numbers."""
    return a + b


@dataclass
class FakeCaller:
    """MCP client that records its notifications."""

    notified: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])

    async def request(self, method: str, params: Any = None) -> Any:
        return {"asked": method, "params": params}

    def notify(self, method: str, params: Any = None) -> None:
        self.notified.append((method, params))


def connected(server: ToolServer) -> ToolConnection:
    return server.connect(FakeCaller())


async def names(connection: ToolConnection) -> list[str]:
    return [tool["name"] for tool in (await connection.answer("tools/list", None))["tools"]]


async def call(server: ToolServer, name: str, arguments: Any = None) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return await connected(server).answer("tools/call", params)


def text(result: dict[str, Any]) -> str:
    assert result["isError"] is False
    return result["content"][0]["text"]


@pytest.mark.requirement("bridge.tools-list")
async def test_tools_are_listed_with_name_description_and_schema() -> None:
    listed = await connected(ToolServer("tools", [echo, add])).answer("tools/list", {})
    assert listed == {
        "tools": [
            {
                "name": "echo",
                "description": "Say the message again.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"message": {"type": "string"}},
                    "required": ["message"],
                    "additionalProperties": False,
                },
            },
            {
                "name": "add",
                "description": "Add two whole numbers.",
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "a": {"type": "integer"},
                        "b": {"type": "integer", "default": 1},
                    },
                    "required": ["a"],
                    "additionalProperties": False,
                },
            },
        ]
    }


@pytest.mark.requirement("bridge.tools-call-echo", "bridge.tools-returning-string")
async def test_a_string_result_is_quoted_as_json() -> None:
    result = await call(ToolServer("tools", [echo]), "echo", {"message": "hello world"})
    assert text(result) == '"Echo: hello world"'


@pytest.mark.requirement("bridge.tools-call-add", "bridge.tools-returning-integer")
async def test_integers_go_in_and_come_out() -> None:
    server = ToolServer("tools", [add])
    assert text(await call(server, "add", {"a": 40, "b": 2})) == "42"
    assert text(await call(server, "add", {"a": 41})) == "42"


@pytest.mark.requirement("bridge.tools-from-function")
async def test_a_plain_function_becomes_a_tool() -> None:
    def greet(name: str) -> str:
        return f"Hello, {name}!"

    assert text(await call(ToolServer("tools", [greet]), "greet", {"name": "World"})) == (
        '"Hello, World!"'
    )


@pytest.mark.requirement("bridge.tool-functions")
async def test_tool_with_a_struct_argument_has_a_schema_and_receives_it() -> None:
    class Point(Struct):
        x: int
        y: int

    def mirror(point: Point) -> Point:
        return Point(point.y, point.x)

    server = ToolServer("tools", [mirror])
    schema = server.tools[0].schema
    assert schema["properties"]["point"] == {"$ref": "#/$defs/Point"}
    assert schema["$defs"]["Point"]["required"] == ["x", "y"]
    result = await call(server, "mirror", {"point": {"x": 1, "y": 2}})
    assert text(result) == '{"x":2,"y":1}'
    assert result["structuredContent"] == {"x": 2, "y": 1}


@pytest.mark.requirement("bridge.tool-functions")
async def test_tool_can_return_content_blocks() -> None:
    def picture() -> ToolContent:
        return ToolContent([{"type": "image", "data": "AA==", "mimeType": "image/png"}])

    result = await call(ToolServer("tools", [picture]), "picture")
    assert result["content"] == [{"type": "image", "data": "AA==", "mimeType": "image/png"}]


@pytest.mark.requirement("bridge.tool-functions")
def test_variadic_function_is_rejected_when_the_server_is_created() -> None:
    def any_number(*numbers: int) -> int:
        return sum(numbers)

    with pytest.raises(TypeError, match=r"\*numbers"):
        ToolServer("tools", [any_number])


@pytest.mark.requirement("bridge.tools-not-found")
async def test_a_call_of_an_unknown_tool_names_it() -> None:
    with pytest.raises(RpcError, match="Tool not found: nope") as caught:
        await call(ToolServer("tools", [echo]), "nope")
    assert caught.value.code == INVALID_PARAMS


@pytest.mark.requirement("bridge.tools-disabled")
async def test_a_disabled_tool_is_neither_listed_nor_callable_until_it_is_enabled_again() -> None:
    server = ToolServer("tools", [echo, add])
    server.disable("echo")
    assert await names(connected(server)) == ["add"]
    with pytest.raises(RpcError, match="not found"):
        await call(server, "echo", {"message": "x"})
    server.enable("echo")
    assert await names(connected(server)) == ["echo", "add"]


@pytest.mark.requirement(
    "bridge.tools-deny-list-hides",
    "bridge.tools-deny-list-others-work",
    "bridge.tools-deny-list-blocks",
)
async def test_a_deny_list_hides_and_blocks_its_tools_and_no_others() -> None:
    server = ToolServer("tools", [echo, add], deny={"add"})
    assert await names(connected(server)) == ["echo"]
    assert text(await call(server, "echo", {"message": "x"})) == '"Echo: x"'
    with pytest.raises(RpcError, match="not found"):
        await call(server, "add", {"a": 1})


@pytest.mark.requirement(
    "bridge.tools-allow-list-shows",
    "bridge.tools-allow-list-works",
    "bridge.tools-allow-list-blocks",
)
async def test_allow_list_shows_and_enables_only_its_tools() -> None:
    server = ToolServer("tools", [echo, add], allow={"echo"})
    assert await names(connected(server)) == ["echo"]
    assert text(await call(server, "echo", {"message": "x"})) == '"Echo: x"'
    with pytest.raises(RpcError, match="not found"):
        await call(server, "add", {"a": 1})
    server.enable("add")
    assert await names(connected(server)) == ["echo", "add"]


@pytest.mark.requirement("bridge.tools-disabled")
def test_error_for_unknown_tool_names_lists_the_known_ones() -> None:
    with pytest.raises(LookupError, match=r"no tool ecko; it has echo"):
        ToolServer("tools", [echo], deny={"ecko"})


@pytest.mark.requirement("bridge.tools-raise")
async def test_exception_of_a_tool_becomes_its_result() -> None:
    def fragile(action: str) -> str:
        if action == "break":
            raise ValueError("not today")
        return action

    server = ToolServer("tools", [fragile])
    broken = await call(server, "fragile", {"action": "break"})
    assert broken == {"content": [{"type": "text", "text": "not today"}], "isError": True}
    assert text(await call(server, "fragile", {"action": "continue"})) == '"continue"'


@pytest.mark.requirement("bridge.tools-raise")
@pytest.mark.parametrize(
    ("error", "is_logged"),
    [
        (ValueError("not today"), True),
        (SymposiumError("no such package", "check its name"), False),
        (RpcError(INTERNAL_ERROR, "the client refused"), False),
    ],
)
async def test_unexpected_exception_of_a_tool_is_logged_with_its_traceback(
    error: Exception, caplog: pytest.LogCaptureFixture, *, is_logged: bool
) -> None:
    def fragile() -> None:
        raise error

    result = await call(ToolServer("tools", [fragile]), "fragile")

    assert result == {"content": [{"type": "text", "text": str(error)}], "isError": True}
    logged = [(each.getMessage(), bool(each.exc_info)) for each in caplog.records]
    assert logged == ([("the tool fragile failed", True)] if is_logged else [])


@pytest.mark.requirement("bridge.tools-raise")
@pytest.mark.parametrize("arguments", [{}, {"message": 1}, {"message": "x", "more": 1}, [], "x"])
async def test_invalid_arguments_are_an_error_of_the_tool(arguments: Any) -> None:
    result = await call(ToolServer("tools", [echo]), "echo", arguments)
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("echo: ")


@pytest.mark.requirement("bridge.tools-raise")
async def test_a_result_without_a_json_form_is_an_error_of_the_tool() -> None:
    def odd() -> object:
        return object()

    result = await call(ToolServer("tools", [odd]), "odd")
    assert result["isError"] is True


@pytest.mark.requirement("bridge.tool-context")
async def test_context_is_passed_to_a_tool_and_is_not_in_its_schema() -> None:
    def who(context: ToolContext, prefix: str = "") -> str:
        return f"{prefix}{context.server_id} {context.connection_id}"

    server = ToolServer("tools", [who])
    connection = connected(server)
    assert list(server.tools[0].schema["properties"]) == ["prefix"]
    result = await connection.answer("tools/call", {"name": "who", "arguments": {"prefix": "> "}})
    assert text(result) == f'"> {server.server_id} {connection.connection_id}"'


def positional(text: str, /) -> str:
    return text


def several(*texts: str) -> str:
    return "".join(texts)


def named(**texts: str) -> str:
    return "".join(texts)


@pytest.mark.requirement("bridge.tool-functions")
@pytest.mark.parametrize("function", [positional, several, named])
def test_function_without_named_parameters_is_not_a_tool(
    function: Callable[..., str],
) -> None:
    with pytest.raises(TypeError, match="tools are called with named arguments"):
        Tool(function)


@pytest.mark.requirement("bridge.tool-server-versions")
@pytest.mark.parametrize(
    ("asked", "agreed"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2031-01-01", "2025-11-25"),
        (None, "2025-11-25"),
    ],
)
async def test_every_revision_with_initialize_is_supported(asked: str | None, agreed: str) -> None:
    connection = connected(ToolServer("tools", [echo]))
    answer = await connection.answer("initialize", {"protocolVersion": asked})
    assert answer["protocolVersion"] == agreed
    assert answer["serverInfo"]["name"] == "tools"
    assert await connection.answer("ping", None) == {}


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("resources/list", {}, METHOD_NOT_FOUND),
        ("tools/list", [], INVALID_PARAMS),
        ("tools/call", {}, INVALID_PARAMS),
        ("tools/call", {"name": 7}, INVALID_PARAMS),
    ],
)
@pytest.mark.requirement("bridge.message-params")
async def test_unknown_requests_are_rejected(method: str, params: Any, code: int) -> None:
    with pytest.raises(RpcError) as caught:
        await connected(ToolServer("tools", [echo])).answer(method, params)
    assert caught.value.code == code


@pytest.mark.requirement("bridge.tool-server-versions")
async def test_initialized_clients_are_notified_when_the_tools_change() -> None:
    server = ToolServer("tools", [echo, add])
    greeted, silent, gone = FakeCaller(), FakeCaller(), FakeCaller()
    await server.connect(greeted).answer("initialize", {})
    server.connect(silent)
    left = server.connect(gone)
    await left.answer("initialize", {})
    server.disconnect(left.connection_id)
    server.disable("add")
    assert greeted.notified == [(LIST_CHANGED, None)]
    server.enable("add")
    assert greeted.notified == [(LIST_CHANGED, None)] * 2
    assert silent.notified == gone.notified == []


@pytest.mark.requirement("bridge.ids-per-server")
def test_each_server_object_has_a_unique_constant_id() -> None:
    one, other = ToolServer("tools", [echo]), ToolServer("tools", [echo])
    assert one.server_id.startswith("mcp-server:")
    assert one.server_id != other.server_id
    assert one.declaration() == one.declaration()
    assert one.declaration() == {"type": "acp", "name": "tools", "serverId": one.server_id}


@pytest.mark.requirement("bridge.tool-functions")
def test_tool_name_can_differ_from_the_function() -> None:
    assert Tool(echo, name="say-again").listed()["name"] == "say-again"


@pytest.mark.requirement("bridge.tools-not-found")
def test_unknown_tools_of_a_filter_are_named_in_order() -> None:
    with pytest.raises(LookupError, match="tools has no tool a, b, c, d; it has echo"):
        ToolServer("tools", [echo], deny=["d", "b", "c", "a"])

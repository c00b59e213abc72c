"""MCP client sessions, also over an ACP connection."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, cast

from msgspec import Struct, field

from peerwire.acp.names import CONNECT, DISCONNECT, MESSAGE, UNKNOWN_CONNECTION
from peerwire.errors import INVALID_PARAMS, METHOD_NOT_FOUND, PeerwireError, RpcError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import NotificationHandler, Peer, Request, RequestHandler
from peerwire.jsonrpc.values import as_object

NEWEST: Final = "2025-11-25"
"""Requested revision of MCP."""

REVISIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", NEWEST)
"""Supported revisions, oldest first: those that start with `initialize`."""


class McpError(PeerwireError):
    """An MCP server could not be reached, or sent an invalid message."""


class McpTool(Struct, frozen=True):
    """A tool as listed by its server; `schema` is the JSON schema of its arguments."""

    name: str
    description: str | None
    schema: Mapping[str, Any]


class ToolResult(Struct, frozen=True):
    """Result of a tool call.

    Attributes:
        content: its blocks, unchanged.
        is_error: whether the tool failed; the content has the reason.
        structured: the structured result, if any.
    """

    content: Sequence[Mapping[str, Any]]
    is_error: bool = False
    structured: Any = None

    @property
    def text(self) -> str:
        """Text of its text blocks, joined by newlines."""
        texts = [block.get("text") for block in self.content if block.get("type") == "text"]
        return "\n".join(text for text in texts if isinstance(text, str))


class McpClientSession(Struct):
    """Session with an initialized server.

    Attributes:
        name: name in the declaration.
        wire: connection, for methods without a function here.
        initialize_result: result of `initialize`.
    """

    name: str
    wire: Peer
    initialize_result: Mapping[str, Any] = field(default_factory=dict[str, Any])

    async def initialize(self) -> None:
        """Initialize a connection, so that tools can be called.

        Raises:
            PeerwireError: the server returned an error.
            McpError: the result is invalid.
        """
        client = {"name": "peerwire", "version": "1"}
        params = {"protocolVersion": NEWEST, "capabilities": {}, "clientInfo": client}
        result = await self.wire.request("initialize", params)
        self.initialize_result = self._object(result, "initialize")
        self.wire.notify("notifications/initialized")

    async def list_tools(self) -> list[McpTool]:
        """List all tools, page by page.

        Raises:
            PeerwireError: the server returned an error.
            McpError: the result is not a list of tools.
        """
        tools: list[McpTool] = []
        params: dict[str, Any] = {}
        while True:
            page = self._object(await self.wire.request("tools/list", params), "tools/list")
            tools += [self._tool(entry) for entry in page.get("tools") or ()]
            cursor = page.get("nextCursor")
            if cursor is None or cursor == params.get("cursor"):
                return tools
            params = {"cursor": cursor}

    async def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> ToolResult:
        """Call a tool.

        Raises:
            RpcError: the tool is unknown, or the server returned an error; a tool that fails
                returns a result with `is_error`.
            McpError: the result is not a tool result.
        """
        params = {"name": name, "arguments": dict(arguments or {})}
        answer = self._object(await self.wire.request("tools/call", params), "tools/call")
        blocks = cast("list[Any]", answer.get("content") or [])
        if not all(isinstance(block, Mapping) for block in blocks):
            raise McpError(f"{self.name} answered tools/call with content that is not a block")
        return ToolResult(blocks, answer.get("isError") is True, answer.get("structuredContent"))

    def _tool(self, entry: Any) -> McpTool:
        match entry:
            case {"name": str(name), **rest}:
                description = rest.get("description")
                schema: Any = rest.get("inputSchema")
                return McpTool(
                    name,
                    description if isinstance(description, str) else None,
                    as_object(schema),
                )
            case _:
                raise McpError(f"{self.name} lists a tool without a name")

    def _object(self, answer: Any, method: str) -> Mapping[str, Any]:
        if not isinstance(answer, Mapping):
            raise McpError(f"{self.name} answered {method} with a result that is not an object")
        return cast("Mapping[str, Any]", answer)


class AcpMcpConnections:
    """MCP connections of an agent over one ACP connection.

    Add its `requests` and `notifications` to the connection's `Handlers`.
    """

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self._open: set[str] = set()

    @property
    def requests(self) -> Mapping[str, RequestHandler]:
        """Handlers of server requests: only `ping`."""
        return {MESSAGE: self._answer, DISCONNECT: self._ended}

    @property
    def notifications(self) -> Mapping[str, NotificationHandler]:
        """Handlers of server notifications, which are ignored."""
        return {MESSAGE: lambda _: None}

    @asynccontextmanager
    async def open(self, server_id: str) -> AsyncGenerator["AcpMcpConnection", None]:
        """Connect to the server with this id; disconnect after the block.

        Raises:
            PeerwireError: no handler serves it, or the connection to the client is closed.
        """
        connection = self.connection
        if connection is None:
            raise McpError(f"{server_id} cannot be reached: there is no ACP connection yet")
        match await connection.request(CONNECT, {"serverId": server_id}):
            case {"connectionId": str(connection_id)}:
                pass
            case _:
                raise McpError(f"{server_id} answered mcp/connect without a connectionId")
        self._open.add(connection_id)
        try:
            yield AcpMcpConnection(connection, connection_id)
        finally:
            self._open.discard(connection_id)
            connection.post(DISCONNECT, {"connectionId": connection_id})

    def _answer(self, request: Request) -> Any:
        match request.params:
            case {"connectionId": str(connection_id), "method": method}:
                if connection_id not in self._open:
                    data = {"reason": UNKNOWN_CONNECTION, "connectionId": connection_id}
                    raise RpcError(INVALID_PARAMS, data)
                if method == "ping":
                    return {}
                raise RpcError(METHOD_NOT_FOUND, method)
            case _:
                raise RpcError(INVALID_PARAMS, "mcp/message needs connectionId and method")

    def _ended(self, request: Request) -> dict[str, Any]:
        params = request.params
        if isinstance(params, Mapping):
            named = cast("Mapping[str, Any]", params).get("connectionId")
            self._open.discard(str(named))
        return {}


class AcpMcpConnection:
    """Connection to an MCP server that its owner serves over ACP."""

    def __init__(self, connection: Connection, connection_id: str) -> None:
        self._connection = connection
        self.connection_id = connection_id

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request and wait for the result."""
        return await self._connection.request(MESSAGE, self._wrapped(method, params))

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification through `mcp/message`."""
        self._connection.notify(MESSAGE, self._wrapped(method, params))

    def _wrapped(self, method: str, params: Any) -> dict[str, Any]:
        wrapped = {"connectionId": self.connection_id, "method": method}
        return wrapped if params is None else wrapped | {"params": params}

"""An MCP client session, also over an ACP connection."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, cast

from msgspec import Struct, field

from peerwire.acp.names import CONNECT, DISCONNECT, MESSAGE, UNKNOWN_CONNECTION
from peerwire.errors import INVALID_PARAMS, METHOD_NOT_FOUND, PeerwireError, RpcError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import NotificationHandler, Peer, Request, RequestHandler

NEWEST: Final = "2025-11-25"
"""The revision of MCP that we ask for."""

REVISIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", NEWEST)
"""The revisions that begin with `initialize`, oldest first; all of them can be spoken here."""


class McpError(PeerwireError):
    """An MCP server could not be reached, or said what no MCP server says."""


class McpTool(Struct, frozen=True):
    """A tool as its server lists it; `schema` is the JSON schema of its arguments."""

    name: str
    description: str | None
    schema: Mapping[str, Any]


class ToolResult(Struct, frozen=True):
    """Result of a tool call.

    Attributes:
        content: its blocks as they came.
        is_error: whether the tool failed; the content then says why.
        structured: the result as data, where the server gives it so.
    """

    content: Sequence[Mapping[str, Any]]
    is_error: bool = False
    structured: Any = None

    @property
    def text(self) -> str:
        """The text of its text blocks, one below the other."""
        texts = [block.get("text") for block in self.content if block.get("type") == "text"]
        return "\n".join(text for text in texts if isinstance(text, str))


class McpClientSession(Struct):
    """A server that has been greeted.

    Attributes:
        name: what the declaration calls it.
        wire: for methods that have no function here.
        greeting: its answer to `initialize`.
    """

    name: str
    wire: Peer
    greeting: Mapping[str, Any] = field(default_factory=dict[str, Any])

    async def greet(self) -> None:
        """Make the connection one on which tools can be used.

        Raises:
            PeerwireError: the server refused.
            McpError: its answer is invalid.
        """
        client = {"name": "peerwire", "version": "1"}
        params = {"protocolVersion": NEWEST, "capabilities": {}, "clientInfo": client}
        self.greeting = self._object(await self.wire.request("initialize", params), "initialize")
        self.wire.notify("notifications/initialized")

    async def list_tools(self) -> list[McpTool]:
        """All its tools, page by page.

        Raises:
            PeerwireError: the server refused.
            McpError: its answer is no list of tools.
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
        """Use a tool.

        Raises:
            RpcError: there is no such tool, or the server refused; a tool that fails says so in
                its result.
            McpError: its answer is no result of a tool.
        """
        params = {"name": name, "arguments": dict(arguments or {})}
        answer = self._object(await self.wire.request("tools/call", params), "tools/call")
        blocks = cast("list[Any]", answer.get("content") or [])
        if not all(isinstance(block, Mapping) for block in blocks):
            raise McpError(f"{self.name} answered tools/call with content that is no block")
        return ToolResult(blocks, answer.get("isError") is True, answer.get("structuredContent"))

    def _tool(self, entry: Any) -> McpTool:
        match entry:
            case {"name": str(name), **rest}:
                description = rest.get("description")
                schema: Any = rest.get("inputSchema")
                return McpTool(
                    name,
                    description if isinstance(description, str) else None,
                    cast("Mapping[str, Any]", schema) if isinstance(schema, Mapping) else {},
                )
            case _:
                raise McpError(f"{self.name} lists a tool without a name")

    def _object(self, answer: Any, method: str) -> Mapping[str, Any]:
        if not isinstance(answer, Mapping):
            raise McpError(f"{self.name} answered {method} with what is no object")
        return cast("Mapping[str, Any]", answer)


class AcpMcpConnections:
    """The MCP connections that an agent has open over one ACP connection.

    Give its `requests` and `notifications` to the connection's `Handlers`.
    """

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self._open: set[str] = set()

    @property
    def requests(self) -> Mapping[str, RequestHandler]:
        """Handlers of what servers ask: `ping` and no more."""
        return {MESSAGE: self._answer, DISCONNECT: self._ended}

    @property
    def notifications(self) -> Mapping[str, NotificationHandler]:
        """Handlers of server notifications, which are ignored."""
        return {MESSAGE: lambda _: None}

    @asynccontextmanager
    async def open(self, server_id: str) -> AsyncGenerator["AcpMcpConnection", None]:
        """Connect to the server of that id; disconnected after the block.

        Raises:
            PeerwireError: no handler serves it, or the connection to the client has ended.
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
    """One connection to one server."""

    def __init__(self, connection: Connection, connection_id: str) -> None:
        self._connection = connection
        self.connection_id = connection_id

    async def request(self, method: str, params: Any = None) -> Any:
        """Ask the server, and wait for the result."""
        return await self._connection.request(MESSAGE, self._wrapped(method, params))

    def notify(self, method: str, params: Any = None) -> None:
        """Tell the server."""
        self._connection.notify(MESSAGE, self._wrapped(method, params))

    def _wrapped(self, method: str, params: Any) -> dict[str, Any]:
        wrapped = {"connectionId": self.connection_id, "method": method}
        return wrapped if params is None else wrapped | {"params": params}

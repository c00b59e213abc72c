"""MCP servers that mods serve, reached over the agent's own connection (acp-host §2.4)."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

from peerwire.acp.mcp_names import CONNECT, DISCONNECT, MESSAGE, UNKNOWN_CONNECTION
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.errors import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from peerwire.jsonrpc.handlers import NotificationHandler, Request, RequestHandler
from peerwire.mcp.server import McpError


class Tunnels:
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
        """Handlers of what servers tell, which is let go by."""
        return {MESSAGE: lambda _: None}

    @asynccontextmanager
    async def open(self, server_id: str) -> AsyncGenerator["Tunnel", None]:
        """Connect to the server of that id; disconnected after the block.

        Raises:
            PeerwireError: nobody serves it, or the connection to the client has ended.
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
            yield Tunnel(connection, connection_id)
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


class Tunnel:
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

"""MCP connections through the chain, from the agent's MCP clients to the servers' owners."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, cast

from msgspec import UNSET, Raw, UnsetType

from peerwire.acp.names import CONNECT, DISCONNECT, MESSAGE, UNKNOWN_CONNECTION
from peerwire.errors import INTERNAL_ERROR, INVALID_PARAMS, RpcError
from peerwire.jsonrpc.handlers import Peer


class McpClient(Protocol):
    """MCP client of the agent, at the lower end of a tunnel."""

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request and wait for the result.

        Raises:
            RpcError: the client returned an error.
        """
        ...

    def notify(self, method: str, params: Any = None) -> None: ...

    def close(self) -> None:
        """Handle the owner's close of the connection."""
        ...


class Tunnels:
    """Open tunnels of one chain, by the owners' connection ids."""

    def __init__(self, upstream: Callable[[], Peer]) -> None:
        self._upstream = upstream
        self._open: dict[str, Tunnel] = {}

    async def open(self, server_id: str, client: McpClient) -> "Tunnel":
        """Connect to a server; later messages of its owner reach `client`.

        Raises:
            RpcError: the server has no owner, or its owner refused.
        """
        answer = await self._upstream().request(CONNECT, {"serverId": server_id})
        # No await from here on: the owner's next message arrives in a later loop turn.
        connection_id = _connection_id(answer)
        if connection_id is None:
            raise RpcError(INTERNAL_ERROR, {"reason": "no connectionId", "serverId": server_id})
        tunnel = Tunnel(self, self._upstream(), connection_id, client)
        self._open[connection_id] = tunnel
        return tunnel

    def client(self, connection_id: str) -> McpClient | None:
        """MCP client of an open tunnel; None for unknown ids."""
        tunnel = self._open.get(connection_id)
        return None if tunnel is None else tunnel.client

    def tell(self, connection_id: str, method: str, params: Any) -> None:
        """Forward an owner's notification to the MCP client; drop it if there is no client."""
        client = self.client(connection_id)
        if client is not None:
            client.notify(method, params)

    def ended_by_owner(self, connection_id: str) -> bool:
        """Remove a tunnel closed by its owner; returns whether it was open."""
        tunnel = self._open.pop(connection_id, None)
        if tunnel is None:
            return False
        tunnel.is_open = False
        tunnel.client.close()
        return True

    def forget(self, connection_id: str) -> None:
        """Remove a tunnel closed by the client's side."""
        self._open.pop(connection_id, None)


class Tunnel:
    """One open connection, made by `Tunnels.open`.

    Attributes:
        client: the agent's MCP client.
        is_open: False once either side closed it.
    """

    def __init__(
        self, tunnels: Tunnels, upstream: Peer, connection_id: str, client: McpClient
    ) -> None:
        self._tunnels = tunnels
        self._upstream = upstream
        self.connection_id = connection_id
        self.client = client
        self.is_open = True

    async def request(self, method: str, params: Raw | UnsetType = UNSET) -> Any:
        """Send a request to the server and wait for the result; cancel it if canceled.

        Raises:
            RpcError: the server returned an error, or its owner exited.
        """
        if not self.is_open:
            raise unknown_connection(self.connection_id)
        try:
            return await self._upstream.request(MESSAGE, self._wrapped(method, params))
        except RpcError as error:
            if is_unknown_connection(error):
                # The owner forgot the connection, so the client must initialize again.
                self._tunnels.ended_by_owner(self.connection_id)
            raise

    def notify(self, method: str, params: Raw | UnsetType = UNSET) -> None:
        """Send a notification to the server."""
        if self.is_open:
            self._upstream.notify(MESSAGE, self._wrapped(method, params))

    async def aclose(self) -> None:
        """Close the tunnel; notify the owner unless it closed the tunnel itself."""
        if not self.is_open:
            return
        self.is_open = False
        self._tunnels.forget(self.connection_id)
        # The owner exited or forgot the tunnel, so there is nothing left to close.
        with suppress(RpcError):
            await self._upstream.request(DISCONNECT, {"connectionId": self.connection_id})

    def _wrapped(self, method: str, params: Raw | UnsetType) -> dict[str, Any]:
        wrapped: dict[str, Any] = {"connectionId": self.connection_id, "method": method}
        if params is not UNSET and bytes(params) != b"null":
            if memoryview(params)[0] == ord("["):
                raise RpcError(INVALID_PARAMS, "params must be an object")
            wrapped["params"] = params
        return wrapped


def unknown_connection(connection_id: str) -> RpcError:
    """Error for a message on a connection that is not open (acp-host §2.4)."""
    return RpcError(INVALID_PARAMS, {"reason": UNKNOWN_CONNECTION, "connectionId": connection_id})


def is_unknown_connection(error: RpcError) -> bool:
    """Whether an error reports a connection that is not open."""
    data = error.data
    return isinstance(data, dict) and (
        cast("dict[str, Any]", data).get("reason") == UNKNOWN_CONNECTION
    )


def _connection_id(answer: object) -> str | None:
    value = cast("dict[str, Any]", answer).get("connectionId") if isinstance(answer, dict) else None
    return value if isinstance(value, str) else None

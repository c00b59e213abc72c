"""Interfaces of the two ends of a connection to an MCP server at a URL."""

from typing import Any, Protocol

from msgspec import Struct

from peerwire.acp.names import MESSAGE
from symposium.chain.mod import Neighbour


class ServerSide(Protocol):
    """A connected server."""

    async def ask(self, method: str, params: Any) -> Any:
        """Send a request and wait for the result.

        Raises:
            RpcError: the server returned an error or is unreachable.
        """
        ...

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        ...

    def close(self) -> None:
        """Disconnect."""
        ...


class AgentConnection(Struct, frozen=True):
    """MCP client of the agent, for a server at a URL.

    Attributes:
        agent: next component toward the agent.
        connection_id: id of the MCP connection.
    """

    agent: Neighbour
    connection_id: str

    async def ask(self, method: str, params: Any) -> Any:
        """Send a request and wait for the result.

        Raises:
            RpcError: the client returned an error.
        """
        return await self.agent.request(MESSAGE, self._inner(method, params))

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        self.agent.notify(MESSAGE, self._inner(method, params))

    def _inner(self, method: str, params: Any) -> dict[str, Any]:
        inner = {"connectionId": self.connection_id, "method": method}
        return inner if params is None else {**inner, "params": params}

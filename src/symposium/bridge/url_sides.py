"""The two ends of a connection to an MCP server at a URL, as each sees the other."""

from typing import Any, Protocol

from msgspec import Struct

from peerwire.acp.names import MESSAGE
from symposium.chain.mod import Neighbour


class ServerSide(Protocol):
    """A server that has been reached."""

    async def ask(self, method: str, params: Any) -> Any:
        """Ask it.

        Raises:
            RpcError: it refused, or cannot be reached any more.
        """
        ...

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        ...

    def close(self) -> None:
        """Disconnect."""
        ...


class AgentConnection(Struct, frozen=True):
    """The agent's MCP client, as the server at the other end reaches it.

    Attributes:
        agent: everything between us and the agent.
        connection_id: which of its connections.
    """

    agent: Neighbour
    connection_id: str

    async def ask(self, method: str, params: Any) -> Any:
        """Ask it.

        Raises:
            RpcError: it refused.
        """
        return await self.agent.request(MESSAGE, self._inner(method, params))

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        self.agent.notify(MESSAGE, self._inner(method, params))

    def _inner(self, method: str, params: Any) -> dict[str, Any]:
        inner = {"connectionId": self.connection_id, "method": method}
        return inner if params is None else {**inner, "params": params}

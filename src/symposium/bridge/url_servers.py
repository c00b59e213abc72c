"""Owner of MCP servers at a URL, for agents that accept no such servers.

It converts a declaration of a URL to one of MCP over ACP; the bridge converts that to a form the
agent accepts. The URL's secrets, such as tokens, stay in this process.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final, Protocol, cast

from msgspec import Struct

from peerwire.acp.names import CONNECT, DISCONNECT, INITIALIZE, MESSAGE, SETUP_METHODS
from peerwire.jsonrpc.handlers import Peer
from peerwire.jsonrpc.values import as_object, encode_value
from symposium.chain.calls import SHUTTING_DOWN
from symposium.chain.capabilities import Mode, takes_servers_over
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import (
    Deferred,
    Drop,
    Forward,
    Mod,
    Outcome,
    Reply,
    from_agent,
    from_client,
)

_REACHED: Final = ("http://", "https://")

_ID: Final = "symposium-url-"


class _Server(Peer, Protocol):
    def close(self) -> None: ...


class _AgentClient(Struct, frozen=True):
    """MCP client of the agent, for a server at a URL.

    Attributes:
        agent: next component toward the agent.
        connection_id: id of the MCP connection.
    """

    agent: Peer
    connection_id: str

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request and wait for the result.

        Raises:
            RpcError: the client returned an error.
        """
        return await self.agent.request(MESSAGE, self._inner(method, params))

    def notify(self, method: str, params: Any = None) -> None:
        self.agent.notify(MESSAGE, self._inner(method, params))

    def _inner(self, method: str, params: Any) -> dict[str, Any]:
        inner = {"connectionId": self.connection_id, "method": method}
        return inner if params is None else {**inner, "params": params}


class UrlServers(Mod):
    """Mod before the bridge; changes nothing if the agent accepts servers at a URL.

    Args:
        mode: mode of the bridge; with `off`, nothing is rewritten.
    """

    def __init__(self, mode: Mode = "auto") -> None:
        self._is_off = mode == "off"
        self._is_needed = False
        self._ids: dict[bytes, str] = {}
        self._servers: dict[str, Mapping[str, Any]] = {}
        self._open: dict[str, _Server] = {}
        self._last = 0
        self._tasks: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Own the tasks of the connections."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                await asyncio.Event().wait()
            finally:
                self._tasks = None
                for connection in self._open.values():
                    connection.close()

    @from_client(INITIALIZE)
    def _initialize(self, message: ChainMessage) -> Forward:
        del message
        return Forward(then=self._initialized)

    def _initialized(self, answer: Answer) -> None:
        self._is_needed = not (self._is_off or takes_servers_over("http", answer.result))

    @from_client(*SETUP_METHODS)
    def _set_up(self, message: ChainMessage) -> Forward:
        params = as_object(message.params)
        declared: Any = params.get("mcpServers")
        if not self._is_needed or not isinstance(declared, list):
            return Forward()
        entries = cast("list[Any]", declared)
        if not any(_is_url(entry) for entry in entries):
            return Forward()
        ours = [self._declared(entry) if _is_url(entry) else entry for entry in entries]
        return Forward({**params, "mcpServers": ours})

    def _declared(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        # One server keeps its id across sessions.
        key = encode_value(entry)
        server_id = self._ids.setdefault(key, f"{_ID}{len(self._ids) + 1}")
        self._servers[server_id] = entry
        return {"type": "acp", "name": str(entry.get("name", server_id)), "serverId": server_id}

    @from_agent(CONNECT)
    def _connect(self, message: ChainMessage) -> Outcome:
        server = self._servers.get(str(as_object(message.params).get("serverId")))
        return Forward() if server is None else Deferred(self._connected(server))

    async def _connected(self, server: Mapping[str, Any]) -> Reply:
        from symposium.bridge.url_connection import connected

        if self._tasks is None:
            raise SHUTTING_DOWN
        self._last += 1
        connection_id = f"{_ID}{self._last}"
        agent = _AgentClient(self.agent, connection_id)
        self._open[connection_id] = connected(server, agent, self._tasks)
        return Reply({"connectionId": connection_id})

    @from_agent(MESSAGE)
    def _message(self, message: ChainMessage) -> Outcome:
        params = as_object(message.params)
        connection = self._open.get(str(params.get("connectionId")))
        if connection is None:
            return Forward()
        method, inner = str(params.get("method")), params.get("params")
        if message.is_request:
            return Deferred(_asked(connection, method, inner))
        connection.notify(method, inner)
        return Drop()

    @from_agent(DISCONNECT)
    def _disconnect(self, message: ChainMessage) -> Outcome:
        connection = self._open.pop(str(as_object(message.params).get("connectionId")), None)
        if connection is None:
            return Forward()
        connection.close()
        return Reply({}) if message.is_request else Drop()


async def _asked(server: Peer, method: str, params: Any) -> Reply:
    return Reply(await server.request(method, params))


def _is_url(entry: object) -> bool:
    members = as_object(entry)
    # In the first version, owners also declare `http`, with a URL that starts with `acp:`.
    return members.get("type") == "http" and str(members.get("url")).startswith(_REACHED)

"""The mod that gives an agent without MCP over ACP the servers of the mods."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, Protocol, TypeAlias, cast

from peerwire.acp.names import DISCONNECT, INITIALIZE, MESSAGE, SETUP_METHODS
from peerwire.errors import INVALID_PARAMS, ConnectionClosedError, RpcError
from symposium.bridge.dialects import Dialects, rewritten
from symposium.bridge.tunnel import Tunnels, unknown_connection
from symposium.bridge.url_servers import UrlServers
from symposium.chain.blueprint import InProcess
from symposium.chain.calls import SHUTTING_DOWN
from symposium.chain.capabilities import (
    McpDelivery,
    Mode,
    advertising,
    choose_way,
    is_second_version,
)
from symposium.chain.messages import Answer, ChainMessage, Direction
from symposium.chain.mod import (
    EVERY_METHOD,
    Deferred,
    Drop,
    Forward,
    Interception,
    Mod,
    Outcome,
    Refuse,
    Reply,
    Revision,
    from_client,
)
from symposium.chain.running_chain import log_failures


class EndpointUsers:
    """Servers in use: by open sessions, and by pending requests for sessions."""

    def __init__(self) -> None:
        self._pending: Counter[str] = Counter()
        self._sessions: dict[str, frozenset[str]] = {}

    def begin(self, servers: Iterable[str]) -> None:
        """Note a request for a session with these servers."""
        self._pending.update(servers)

    def opened(self, session: str, servers: Iterable[str]) -> list[str]:
        """Confirm a session; returns its previous servers that are now unused."""
        before = self._sessions.get(session, frozenset())
        self._sessions[session] = frozenset(servers)
        self._pending.subtract(servers)
        return self._unused(before)

    def failed(self, servers: Iterable[str]) -> list[str]:
        """Drop a failed session request; returns its servers that are now unused."""
        self._pending.subtract(servers)
        return self._unused(servers)

    def ended(self, session: str) -> list[str]:
        """End a session; returns its servers that are now unused."""
        return self._unused(self._sessions.pop(session, frozenset()))

    def _unused(self, servers: Iterable[str]) -> list[str]:
        used = set(+self._pending)
        for of_session in self._sessions.values():
            used |= of_session
        return sorted(set(servers) - used)


_LOAD: Final = "session/load"


class Endpoint(Protocol):
    """Endpoint of one MCP server for the agent."""

    def declaration(self, declaration: Mapping[str, Any], *, is_typed: bool) -> dict[str, Any]:
        """Server declaration with the address of this endpoint."""
        ...

    def close(self) -> None:
        """Close the port and every connection to it."""
        ...

    async def aclose(self) -> None:
        """Close, and notify the owner that its clients disconnected."""
        ...


_MakeEndpoint: TypeAlias = Callable[[str, Tunnels, asyncio.TaskGroup], Endpoint]


class Bridge(Mod):
    """Last mod before the agent process; changes nothing if the agent supports MCP over ACP.

    Args:
        mode: `auto` depends on the agent's capabilities.
        rewrites_unknown: also rewrite declarations in unknown methods.
    """

    def __init__(self, mode: Mode = "auto", *, rewrites_unknown: bool = False) -> None:
        self._mode: Mode = mode
        self._rewrites_unknown = rewrites_unknown
        self._way = McpDelivery.NATIVE
        self._is_second_version = False
        self._tunnels = Tunnels(lambda: self.client)
        self._endpoints: dict[str, Endpoint] = {}
        self._uses = EndpointUsers()
        self._tasks: asyncio.TaskGroup | None = None
        self._running = asyncio.Event()

    def interceptions(self) -> list[Interception]:
        """Intercepted methods; all of them only if declarations are rewritten everywhere."""
        wanted = super().interceptions()
        if self._rewrites_unknown:
            wanted.append(Interception(Direction.TO_AGENT, EVERY_METHOD, self._set_up))
        return wanted

    async def run(self) -> None:
        """Own the tasks of the agent's MCP clients."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            self._running.set()
            try:
                await asyncio.Event().wait()
            finally:
                # Before the task group ends: it could not own a connection that arrives later.
                await self.aclose()

    async def aclose(self) -> None:
        """Close every port without notifying the owners: they are stopping too."""
        self._tasks = None
        for endpoint in self._endpoints.values():
            endpoint.close()
        self._endpoints.clear()

    @from_client(INITIALIZE)
    def _initialize(self, message: ChainMessage) -> Forward:
        del message
        return Forward(then=self._initialized)

    def _initialized(self, answer: Answer) -> Revision:
        result = answer.result
        self._way = choose_way(self._mode, result)
        self._is_second_version = is_second_version(result)
        return None if self._way is McpDelivery.NATIVE else Reply(advertising(result))

    @from_client(*SETUP_METHODS)
    def _set_up(self, message: ChainMessage) -> Outcome | Awaitable[Outcome]:
        params = _members(message)
        if self._way is McpDelivery.NATIVE or not message.is_request or params is None:
            return Forward()
        if self._is_second_version and message.method == _LOAD:
            return Forward()
        if self._running.is_set():
            return self._rewrite(message, params)
        return self._rewrite_when_running(message, params)

    async def _rewrite_when_running(self, message: ChainMessage, params: dict[str, Any]) -> Outcome:
        # Mods start running after the `initialize` response; a fast client may be earlier.
        await self._running.wait()
        return self._rewrite(message, params)

    def _rewrite(self, message: ChainMessage, members: dict[str, Any]) -> Forward:
        used: set[str] = set()

        def rewrite(server_id: str, declaration: Mapping[str, Any]) -> dict[str, Any]:
            used.add(server_id)
            endpoint = self._endpoint(server_id)
            return endpoint.declaration(declaration, is_typed=self._is_second_version)

        declarations = rewritten(members.get("mcpServers"), rewrite)
        if declarations is None:
            return Forward()
        self._uses.begin(used)

        def opened(answer: Answer) -> Revision:
            session = _session_id(answer.result) or message.session_id
            self._close(
                self._uses.failed(used) if session is None else self._uses.opened(session, used)
            )

        def failed(_: Answer) -> Revision:
            self._close(self._uses.failed(used))

        return Forward(members | {"mcpServers": declarations}, then=opened, catch=failed)

    @from_client("session/close", "session/delete")
    def _end_session(self, message: ChainMessage) -> Forward:
        session = message.session_id
        if self._way is McpDelivery.NATIVE or session is None:
            return Forward()

        def ended(_: Answer) -> Revision:
            self._close(self._uses.ended(session))

        return Forward(then=ended)

    def _endpoint(self, server_id: str) -> Endpoint:
        if self._tasks is None:
            raise SHUTTING_DOWN
        endpoint = self._endpoints.get(server_id)
        if endpoint is None:
            make = _shim_endpoint() if self._way is McpDelivery.STDIO else _http_endpoint()
            endpoint = self._endpoints[server_id] = make(server_id, self._tunnels, self._tasks)
        return endpoint

    def _close(self, servers: list[str]) -> None:
        for server_id in servers:
            endpoint = self._endpoints.pop(server_id, None)
            if endpoint is not None and self._tasks is not None:
                self._tasks.create_task(log_failures("an endpoint", endpoint.aclose))

    @from_client(MESSAGE)
    def _message(self, message: ChainMessage) -> Outcome:
        if self._way is McpDelivery.NATIVE:
            return Forward()
        match message.params:
            case {"connectionId": str(connection_id), "method": str(method), **rest}:
                params = rest.get("params")
            case _:
                error = RpcError(INVALID_PARAMS, "mcp/message needs connectionId and method")
                return Refuse(error) if message.is_request else Drop()
        if message.is_request:
            return Deferred(self._ask(connection_id, method, params))
        # A request starts its task in this loop turn and waits for the tunnel before this callback
        # runs, so the order is kept.
        loop = asyncio.get_running_loop()
        loop.call_soon(self._tunnels.tell, connection_id, method, params)
        return Drop()

    async def _ask(self, connection_id: str, method: str, params: Any) -> Reply:
        client = self._tunnels.client(connection_id)
        if client is None:
            raise unknown_connection(connection_id)
        try:
            return Reply(await client.request(method, params))
        except ConnectionClosedError as error:
            raise unknown_connection(connection_id) from error

    @from_client(DISCONNECT)
    def _disconnect(self, message: ChainMessage) -> Outcome:
        if self._way is McpDelivery.NATIVE:
            return Forward()
        named = (_members(message) or {}).get("connectionId")
        if self._tunnels.ended_by_owner(str(named)):
            return Reply({}) if message.is_request else Drop()
        return Refuse(unknown_connection(str(named))) if message.is_request else Drop()


def _http_endpoint() -> _MakeEndpoint:
    from symposium.bridge.http_endpoint import HttpEndpoint

    return HttpEndpoint


def _shim_endpoint() -> _MakeEndpoint:
    from symposium.bridge.stdio_endpoint import ShimEndpoint

    return ShimEndpoint


def _members(message: ChainMessage) -> dict[str, Any] | None:
    params = message.params
    return cast("dict[str, Any]", params) if isinstance(params, dict) else None


def _session_id(result: object) -> str | None:
    value = cast("dict[str, Any]", result).get("sessionId") if isinstance(result, dict) else None
    return value if isinstance(value, str) else None


def bridge_components(mode: Mode = "auto") -> list[InProcess]:
    """Hidden components to append to the mods of a chain; empty if the bridge is off."""
    if mode == "off":
        return []
    return [
        InProcess("url servers", UrlServers(mode), is_hidden=True),
        InProcess("dialects", Dialects(mode), is_hidden=True),
        InProcess("bridge", Bridge(mode), is_hidden=True),
    ]

"""Translate between the versions of MCP over ACP.

Placed right before the bridge. It speaks to each owner in the version of its declaration, tracked
by server id and connection id, and to the agent in the current version, unless the agent declares
only the first one.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from peerwire.acp.names import (
    CONNECT,
    CONNECTS,
    DISCONNECT,
    DISCONNECTS,
    INITIALIZE,
    MCP_ERAS,
    MESSAGE,
    MESSAGES,
    SETUP_METHODS,
    McpDialect,
    McpEra,
    canonical_members,
    renamed,
)
from peerwire.errors import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from symposium.bridge.tunnel import unknown_connection
from symposium.chain.capabilities import Mode, speaks_first_era
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import (
    Deferred,
    Drop,
    Forward,
    Mod,
    Outcome,
    Refuse,
    Reply,
    Revision,
    Then,
    from_agent,
    from_client,
)

_BRIDGE_KEYS: Final = frozenset({"type", "serverId"})


def without_bridge_keys(declaration: Mapping[str, Any]) -> dict[str, Any]:
    """Copy the members of a declaration that are not about MCP over ACP."""
    return {name: value for name, value in declaration.items() if name not in _BRIDGE_KEYS}


def server_id(declaration: object) -> str | None:
    """Server id in an MCP over ACP declaration; None for other declarations."""
    if not isinstance(declaration, Mapping):
        return None
    members = cast("Mapping[str, Any]", declaration)
    named = members.get("serverId")
    return named if members.get("type") == "acp" and isinstance(named, str) else None


def rewritten(
    declarations: object, rewrite: Callable[[str, Mapping[str, Any]], dict[str, Any]]
) -> list[Any] | None:
    """The array with every ACP declaration rewritten, in order; None if it contains none."""
    if not isinstance(declarations, list):
        return None
    entries = cast("list[Any]", declarations)
    if not any(server_id(entry) is not None for entry in entries):
        return None
    return [
        entry if (named := server_id(entry)) is None else rewrite(named, entry) for entry in entries
    ]


_ACP_URL: Final = "acp:"
_HOST_ERA: Final = MCP_ERAS[McpDialect.RUST_SDK]


class Dialects(Mod):
    """Translate between the versions; other messages pass unchanged.

    Args:
        mode: mode of the bridge; when forced, the agent's own version is ignored.
    """

    def __init__(self, mode: Mode = "auto") -> None:
        self._mode = mode
        self._agent = _HOST_ERA
        self._urls: dict[str, str] = {}
        self._servers: dict[str, McpDialect] = {}
        self._connections: dict[str, McpDialect] = {}

    @from_client(INITIALIZE)
    def greet(self, message: ChainMessage) -> Forward:
        """Read the agent's version from the response to `initialize`."""
        del message
        return Forward(then=self._initialized)

    def _initialized(self, answer: Answer) -> None:
        if self._mode == "auto" and speaks_first_era(answer.result):
            self._agent = MCP_ERAS[McpDialect.SACP]

    @from_client(*SETUP_METHODS)
    def declare(self, message: ChainMessage) -> Outcome:
        """Rewrite every declaration to the version of the agent's side."""
        params = _object(message.params)
        declared = params.get("mcpServers")
        if not isinstance(declared, list):
            return Forward()
        entries = cast("list[Any]", declared)
        try:
            ours = [self._for_agent(self._declaration(entry)) for entry in entries]
        except RpcError as error:
            return Refuse(error)
        if all(one is other for one, other in zip(ours, entries, strict=True)):
            return Forward()
        return Forward(params | {"mcpServers": ours})

    def _declaration(self, entry: Any) -> Any:
        match entry:
            case {"type": "http", "url": str(url), **rest} if url.startswith(_ACP_URL):
                if rest.pop("headers", None):
                    reason = f"{url} is reached over ACP; it cannot have headers"
                    raise RpcError(INVALID_PARAMS, {"reason": reason, "url": url})
                self._servers.setdefault(url, McpDialect.SACP)
                return {"type": "acp", **rest, "serverId": url}
            case {"type": "acp", "id": str(server), **rest} if "serverId" not in rest:
                self._servers[server] = McpDialect.RFD
                return {**rest, "type": "acp", "serverId": server}
            case _:
                return entry

    def _for_agent(self, entry: Any) -> Any:
        named = server_id(entry)
        if named is None or self._agent is _HOST_ERA:
            return entry
        url = named if named.startswith(_ACP_URL) else f"{_ACP_URL}{named}"
        self._urls[url] = named
        rest = {name: value for name, value in entry.items() if name not in {"type", "serverId"}}
        return {"type": "http", **rest, "url": url, "headers": []}

    @from_agent(*CONNECTS)
    def connect(self, message: ChainMessage) -> Outcome:
        """Open a connection in the version of the server's owner."""
        params = _members(message)
        if not message.is_request or params is None:
            return Forward()
        server = params.get("serverId")
        if not isinstance(server, str):
            return Refuse(RpcError(INVALID_PARAMS, f"{message.method} needs the id of a server"))
        params["serverId"] = server = self._urls.get(server, server)
        dialect = self._servers.get(server, McpDialect.RUST_SDK)
        era = MCP_ERAS[dialect]

        def opened(answer: Answer) -> Revision:
            return self._opened(answer, dialect)

        def failed(answer: Answer) -> Revision:
            return self._not_opened(answer, server, dialect)

        if dialect is McpDialect.RUST_SDK and message.method == CONNECT:
            return Forward(then=opened, catch=failed)
        written = renamed(params, {"serverId": era.server, "_meta": era.meta})
        return Forward(written, era.connect, then=opened, catch=failed)

    def _opened(self, answer: Answer, dialect: McpDialect) -> Revision:
        result = canonical_members(_object(answer.result))
        connection = result.get("connectionId")
        if isinstance(connection, str):
            self._connections[connection] = dialect
        result = self._opened_for_agent(result)
        return None if result == answer.result else Reply(result)

    def _opened_for_agent(self, result: dict[str, Any]) -> dict[str, Any]:
        return renamed(result, {"connectionId": self._agent.opened, "_meta": self._agent.meta})

    def _not_opened(self, answer: Answer, server: str, dialect: McpDialect) -> Revision:
        if answer.error is None or answer.error.code != METHOD_NOT_FOUND:
            return None
        if dialect is McpDialect.SACP:
            # The oldest version has no connections; its messages name the server's URL.
            self._connections[server] = McpDialect.PACP_SEND
            return Reply(self._opened_for_agent({"connectionId": server}))
        return Refuse(
            RpcError(INVALID_PARAMS, {"reason": "unknown MCP server", "serverId": server})
        )

    @from_agent(*MESSAGES)
    def ask(self, message: ChainMessage) -> Outcome:
        """Forward a message to the server's owner."""
        params = _members(message)
        if params is None:
            return Forward()
        connection = str(params.get("connectionId"))
        dialect = self._connections.get(connection, McpDialect.RUST_SDK)
        catch = self._first(connection, params) if message.is_request else None
        if MCP_ERAS[dialect].request == message.method == MESSAGE:
            return Forward(catch=catch)
        era = MCP_ERAS[dialect]
        method = era.request if message.is_request else era.notification
        return Forward(_written(params, era), method, catch=catch)

    def _first(self, connection: str, params: Mapping[str, Any]) -> Then | None:
        """Handle a "method not found" from the owner; None if the server itself sent it."""

        def unknown(answer: Answer) -> Revision:
            is_unknown = answer.error is not None and answer.error.code == METHOD_NOT_FOUND
            return Refuse(unknown_connection(connection)) if is_unknown else None

        dialect = self._connections.get(connection)
        if dialect is None:
            return unknown
        if dialect is not McpDialect.SACP or params.get("method") != "initialize":
            return None

        async def again(answer: Answer) -> Revision:
            # Every server implements `initialize`, so the owner does not know the envelope.
            if answer.error is None or answer.error.code != METHOD_NOT_FOUND:
                return None
            self._connections[connection] = McpDialect.PACP_SPLIT
            era = MCP_ERAS[McpDialect.PACP_SPLIT]
            return Reply(await self.client.request(era.request, _written(params, era)))

        return again

    @from_agent(*DISCONNECTS)
    def disconnect(self, message: ChainMessage) -> Outcome:
        """Close a connection in the version of the server's owner."""
        params = _members(message)
        if params is None:
            return Forward()
        connection = str(params.get("connectionId"))
        era = MCP_ERAS[self._connections.pop(connection, McpDialect.RUST_SDK)]
        written = renamed(params, {"connectionId": era.opened, "_meta": era.meta})
        if era.is_disconnect_answered:
            if not message.is_request:
                return Deferred(_reply(self.client.request(era.disconnect, written)))
            is_ours = message.method == DISCONNECT
            return Forward() if is_ours else Forward(written, era.disconnect)
        if era.disconnect:
            self.client.notify(era.disconnect, written)
        return Reply({}) if message.is_request else Drop()

    @from_client(*MESSAGES)
    def forward_to_agent(self, message: ChainMessage) -> Outcome:
        """Forward a message of a server's owner in the agent's version."""
        params = _members(message)
        if params is None or message.method == self._agent.request:
            return Forward()
        return Forward(_written(params, self._agent), self._agent.request)

    @from_client(*DISCONNECTS)
    def ended(self, message: ChainMessage) -> Outcome:
        """Close a connection at the owner's request."""
        params = _members(message)
        if params is None:
            return Forward()
        self._connections.pop(str(params.get("connectionId")), None)
        if self._agent is not _HOST_ERA:
            self.agent.notify(self._agent.disconnect, self._opened_for_agent(params))
            return Reply({}) if message.is_request else Drop()
        if message.is_request:
            return Forward() if message.method == DISCONNECT else Forward(params, DISCONNECT)
        return Deferred(_reply(self.agent.request(DISCONNECT, params)))


def _members(message: ChainMessage) -> dict[str, Any] | None:
    if not isinstance(message.params, dict):
        return None
    return canonical_members(_object(cast("object", message.params)))


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _written(params: Mapping[str, Any], era: McpEra) -> dict[str, Any]:
    return renamed(params, {"connectionId": era.connection, "_meta": era.meta})


async def _reply(request: Any) -> Reply:
    await request
    return Reply({})

"""The names that each era uses for MCP over ACP: one table, as `names` has it for proxies.

Which era a server's owner speaks shows in its declaration (acp-host §1.2, R2.4).
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from msgspec import Struct

CONNECT: Final = "mcp/connect"
MESSAGE: Final = "mcp/message"
DISCONNECT: Final = "mcp/disconnect"

SETUP_METHODS: Final = ("session/new", "session/load", "session/resume", "session/fork")
"""The requests that declare a session's MCP servers."""

UNKNOWN_CONNECTION: Final = "unknown MCP connection"
"""The reason that a request on a connection which is not open is refused with (acp-host §2.4)."""


class McpDialect(Enum):
    """An era's way to speak MCP over ACP."""

    RUST_SDK = "rust-sdk"
    RFD = "rfd"
    SACP = "sacp"
    PACP_SPLIT = "pacp"
    PACP_SEND = "pacp-0"


class McpEra(Struct, frozen=True):
    """One row of the table: how an agent speaks to a server's owner.

    Attributes:
        connect: the method that opens a connection; empty where there are no connections.
        request: the method that carries an MCP request.
        notification: the method that carries an MCP notification.
        disconnect: the method that ends a connection; empty where there are none.
        is_disconnect_answered: whether that is a request.
        server: the member that names the server in `connect`.
        opened: the member that names the connection in its answer, and in `disconnect`.
        connection: the member that names the connection in what carries a message.
        meta: the member for metadata.
    """

    connect: str
    request: str
    notification: str
    disconnect: str
    is_disconnect_answered: bool
    server: str
    opened: str
    connection: str
    meta: str = "_meta"


MCP_ERAS: Final[Mapping[McpDialect, McpEra]] = {
    McpDialect.RUST_SDK: McpEra(
        CONNECT,
        MESSAGE,
        MESSAGE,
        DISCONNECT,
        is_disconnect_answered=True,
        server="serverId",
        opened="connectionId",
        connection="connectionId",
    ),
    McpDialect.RFD: McpEra(
        CONNECT,
        MESSAGE,
        MESSAGE,
        DISCONNECT,
        is_disconnect_answered=True,
        server="acpId",
        opened="connectionId",
        connection="connectionId",
    ),
    McpDialect.SACP: McpEra(
        "_mcp/connect",
        "_mcp/message",
        "_mcp/message",
        "_mcp/disconnect",
        is_disconnect_answered=False,
        server="acp_url",
        opened="connection_id",
        connection="connectionId",
        meta="meta",
    ),
    McpDialect.PACP_SPLIT: McpEra(
        "_mcp/connect",
        "_mcp/request",
        "_mcp/notification",
        "_mcp/disconnect",
        is_disconnect_answered=False,
        server="acp_url",
        opened="connection_id",
        connection="connection_id",
    ),
    McpDialect.PACP_SEND: McpEra(
        "",
        "_mcp/client_to_server/request",
        "_mcp/client_to_server/notification",
        "",
        is_disconnect_answered=False,
        server="url",
        opened="url",
        connection="url",
    ),
}

CONNECTS: Final = frozenset({CONNECT, "_mcp/connect"})
MESSAGES: Final = frozenset(
    {
        MESSAGE,
        "_mcp/message",
        "_mcp/request",
        "_mcp/notification",
        "_mcp/client_to_server/request",
        "_mcp/client_to_server/notification",
        "_mcp/server_to_client/request",
        "_mcp/server_to_client/notification",
    }
)
DISCONNECTS: Final = frozenset({DISCONNECT, "_mcp/disconnect"})
"""Every era's methods, by what they mean."""

_CANONICAL: Final = {
    "acpId": "serverId",
    "acp_url": "serverId",
    "connection_id": "connectionId",
    "url": "connectionId",
    "meta": "_meta",
}


def canonical_members(params: Mapping[str, Any]) -> dict[str, Any]:
    """The params of any era's method with the members called as we call them; others are kept."""
    message = params.get("message")
    if isinstance(message, dict) and "method" not in params:
        params = {name: value for name, value in params.items() if name != "message"} | message
    return {_CANONICAL.get(name, name): value for name, value in params.items()}


def renamed(params: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The params with some members called otherwise."""
    return {names.get(name, name): value for name, value in params.items()}

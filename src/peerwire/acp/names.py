"""Names of each era of ACP, for proxies and for MCP over ACP.

The canonical era is tried first; each peer is then addressed in the era that it answers to
(acp-host §1.2, D5). The declaration of a server shows the era of its owner (acp-host §1.2, R2.4).
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from peerwire.jsonrpc.messages import quoted
from peerwire.jsonrpc.values import Body, decode_value, object_members

INITIALIZE: Final = "initialize"
SESSION_NEW: Final = "session/new"
SESSION_FORK: Final = "session/fork"
SESSION_PROMPT: Final = "session/prompt"
SESSION_CANCEL: Final = "session/cancel"
SESSION_LIST: Final = "session/list"
SESSION_DELETE: Final = "session/delete"

REOPEN_METHODS: Final = frozenset({"session/load", "session/resume"})
"""Requests that reopen a session, which another process may have created."""

CLOSE_METHODS: Final = frozenset({"session/close", SESSION_DELETE})


class Dialect(Enum):
    """Era of messages to proxies; values are those of `dialect` in a config."""

    RUST_SDK = "rust-sdk"
    SACP = "sacp"
    RFD = "rfd"
    PACP_SPLIT = "pacp"
    PACP_SEND = "pacp-0"


class Names(Struct, frozen=True):
    """Methods of an envelope in one direction."""

    request: str
    notification: str


class Era(Struct, frozen=True):
    """Row of the table of eras: method names of one version of a protocol.

    Attributes:
        initialize: method that makes a component a proxy; plain `initialize` has `_meta.proxy`.
        to_proxy: envelopes from a conductor to a proxy.
        to_conductor: envelopes from a proxy to its conductor.
        meta: the envelope's member for metadata; empty if the era has no such member.
        nested: whether method and params sit one level deeper, in `message`.
    """

    initialize: str
    to_proxy: Names
    to_conductor: Names
    meta: str
    nested: bool = False


_UNDERSCORE: Final = Names("_proxy/successor", "_proxy/successor")
_RFD: Final = Names("proxy/successor", "proxy/successor")
_SPLIT: Final = Names("_proxy/successor/request", "_proxy/successor/notification")
_SEND: Final = Names("_proxy/successor/send/request", "_proxy/successor/send/notification")
_RECEIVE: Final = Names("_proxy/successor/receive/request", "_proxy/successor/receive/notification")

ERAS: Final = {
    Dialect.RUST_SDK: Era("_proxy/initialize", _UNDERSCORE, _UNDERSCORE, "_meta"),
    Dialect.SACP: Era("_proxy/initialize", _UNDERSCORE, _UNDERSCORE, "meta"),
    Dialect.RFD: Era("proxy/initialize", _RFD, _RFD, "meta"),
    Dialect.PACP_SPLIT: Era(INITIALIZE, _SPLIT, _SPLIT, ""),
    Dialect.PACP_SEND: Era(INITIALIZE, _RECEIVE, _SEND, "", nested=True),
}

CANONICAL: Final = Dialect.RUST_SDK

ATTEMPTS: Final = (Dialect.RUST_SDK, Dialect.RFD, Dialect.PACP_SPLIT)
"""Order in which eras are tried for a component; the next only after `-32601` (R2)."""

PROXY_INITIALIZE: Final = {
    "_proxy/initialize": Dialect.RUST_SDK,
    "proxy/initialize": Dialect.RFD,
}
"""Methods that make a component a proxy, and the era of their sender."""

ENVELOPES: Final = {
    **dict.fromkeys((_UNDERSCORE.request,), Dialect.RUST_SDK),
    **dict.fromkeys((_RFD.request,), Dialect.RFD),
    **dict.fromkeys((_SPLIT.request, _SPLIT.notification), Dialect.PACP_SPLIT),
    **dict.fromkeys((_SEND.request, _SEND.notification), Dialect.PACP_SEND),
    **dict.fromkeys((_RECEIVE.request, _RECEIVE.notification), Dialect.PACP_SEND),
}
"""Methods of all envelopes, and the era of their sender."""


class AcpEnvelope(Struct, frozen=True, gc=False):
    """Content of an envelope.

    Attributes:
        method: the inner message's method.
        params: its params, unchanged.
        extra: unknown members of the envelope, kept for the next hop; includes metadata as
            `_meta`.
        meta: the original name of the metadata member; empty without metadata.
    """

    method: str
    params: Raw | UnsetType = UNSET
    extra: bytes = b""
    meta: str = ""


class _Flat(Struct, frozen=True, gc=False):
    method: str
    params: Raw | UnsetType = UNSET


_decode_flat = msgspec.json.Decoder(_Flat).decode


def unwrap(params: Body | UnsetType, dialect: Dialect) -> AcpEnvelope | None:
    """Content of the envelope, one level deep; None if it is not one (acp-host §1.3)."""
    if params is UNSET:
        return None
    try:
        if not ERAS[dialect].nested:
            inner = _decode_flat(params)
            if _compact_size(inner) == memoryview(params).nbytes:
                return AcpEnvelope(inner.method, inner.params)
        return _unwrap_slowly(params)
    except (ValueError, RecursionError):
        # The fast decoder refuses lone surrogates, which JSON allows.
        return _unwrap_slowly(params)


def _compact_size(inner: _Flat) -> int:
    size = len(b'{"method":}') + len(quoted(inner.method))
    return size if inner.params is UNSET else size + len(b',"params":') + len(inner.params)


def _unwrap_slowly(params: Body) -> AcpEnvelope | None:
    try:
        outer = object_members(bytes(params).decode())
        inner = object_members(outer.pop("message").decode()) if "message" in outer else outer
        method = decode_value(inner.pop("method"))
    except (ValueError, KeyError, RecursionError):
        return None
    if not isinstance(method, str):
        return None
    body = Raw(inner.pop("params")) if "params" in inner else UNSET
    meta = next((name for name in ("_meta", "meta") if name in outer), "")
    extra = b"".join(
        b",%b:%b" % (quoted("_meta" if name == meta else name), written)
        for name, written in outer.items()
        if name == meta or name not in {"_meta", "meta"}
    )
    return AcpEnvelope(method, body, extra, meta)


def wrap(dialect: Dialect, method: str, params: Body | UnsetType, extra: bytes = b"") -> bytes:
    """Params of an envelope with this message; the `Era` has its method."""
    era = ERAS[dialect]
    inner = (
        b'"method":%b' % quoted(method)
        if params is UNSET
        else b'"method":%b,"params":%b' % (quoted(method), params)
    )
    if extra and era.meta not in {"", "_meta"}:
        extra = _with_meta_named(era.meta, extra)
    if era.nested:
        return b'{"message":{%b}%b}' % (inner, extra)
    return b"{%b%b}" % (inner, extra)


def _with_meta_named(name: str, extra: bytes) -> bytes:
    members = object_members((b"{%b}" % extra[1:]).decode())
    return b"".join(
        b",%b:%b" % (quoted(name if member == "_meta" else member), written)
        for member, written in members.items()
    )


CONNECT: Final = "mcp/connect"
MESSAGE: Final = "mcp/message"
DISCONNECT: Final = "mcp/disconnect"

SETUP_METHODS: Final = ("session/new", "session/load", "session/resume", "session/fork")
"""Requests that declare a session's MCP servers."""

UNKNOWN_CONNECTION: Final = "unknown MCP connection"
"""Error reason for requests on a connection that is not open (acp-host §2.4)."""


class McpDialect(Enum):
    """Era of MCP over ACP."""

    RUST_SDK = "rust-sdk"
    RFD = "rfd"
    SACP = "sacp"
    PACP_SPLIT = "pacp"
    PACP_SEND = "pacp-0"


class McpEra(Struct, frozen=True):
    """One row of the table: messages of an agent to the owner of a server.

    Attributes:
        connect: the method that opens a connection; empty if connections do not exist.
        request: the method that carries an MCP request.
        notification: the method that carries an MCP notification.
        disconnect: the method that ends a connection; empty if connections do not exist.
        is_disconnect_answered: whether `disconnect` is a request.
        server: the member that names the server in `connect`.
        opened: the member that names the connection in the response, and in `disconnect`.
        connection: the member that names the connection in messages.
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
"""Methods of all eras, by their meaning."""

_CANONICAL: Final = {
    "acpId": "serverId",
    "acp_url": "serverId",
    "connection_id": "connectionId",
    "url": "connectionId",
    "meta": "_meta",
}


def canonical_members(params: Mapping[str, Any]) -> dict[str, Any]:
    """Rename the members of any era's params to canonical names; keep others."""
    message = params.get("message")
    if isinstance(message, dict) and "method" not in params:
        params = {name: value for name, value in params.items() if name != "message"} | message
    return {_CANONICAL.get(name, name): value for name, value in params.items()}


def renamed(params: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Rename some members of params."""
    return {names.get(name, name): value for name, value in params.items()}

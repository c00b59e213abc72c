"""The names that each era uses for proxies and for MCP over ACP: one table, read by every hop (acp-host §1.2, D5).

We emit the canonical era and accept every other, per peer: a peer is spoken to in the era it answers to.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from peerwire.jsonrpc.messages import quoted
from peerwire.jsonrpc.scan import object_members
from peerwire.jsonrpc.values import Body

INITIALIZE: Final = "initialize"


class Dialect(Enum):
    """An era's way to speak to proxies; the values are what a person writes in a component's `dialect`."""

    RUST_SDK = "rust-sdk"
    SACP = "sacp"
    RFD = "rfd"
    PACP_SPLIT = "pacp"
    PACP_SEND = "pacp-0"


@dataclass(frozen=True, slots=True)
class Era:
    """One row of the table.

    Attributes:
        initialize: the method that makes a component a proxy; plain `initialize` stands for the `_meta.proxy` handshake.
        request: the envelope's method for a request.
        notification: the envelope's method for a notification.
        meta: the envelope's member for metadata; empty where the era has none.
        nested: whether method and params sit one level deeper, in `message`.
    """

    initialize: str
    request: str
    notification: str
    meta: str
    nested: bool = False


ERAS: Final = {
    Dialect.RUST_SDK: Era("_proxy/initialize", "_proxy/successor", "_proxy/successor", "_meta"),
    Dialect.SACP: Era("_proxy/initialize", "_proxy/successor", "_proxy/successor", "meta"),
    Dialect.RFD: Era("proxy/initialize", "proxy/successor", "proxy/successor", "meta"),
    Dialect.PACP_SPLIT: Era(
        INITIALIZE, "_proxy/successor/request", "_proxy/successor/notification", ""
    ),
    Dialect.PACP_SEND: Era(
        INITIALIZE,
        "_proxy/successor/receive/request",
        "_proxy/successor/receive/notification",
        "",
        nested=True,
    ),
}

CANONICAL: Final = Dialect.RUST_SDK

ATTEMPTS: Final = (Dialect.RUST_SDK, Dialect.RFD, Dialect.PACP_SPLIT)
"""The order in which a component of unknown era is greeted; the next only after `-32601` (R2)."""

PROXY_INITIALIZE: Final = frozenset({"_proxy/initialize", "proxy/initialize"})

ENVELOPES: Final = {
    "_proxy/successor": Dialect.RUST_SDK,
    "proxy/successor": Dialect.RFD,
    "_proxy/successor/request": Dialect.PACP_SPLIT,
    "_proxy/successor/notification": Dialect.PACP_SPLIT,
    "_proxy/successor/send/request": Dialect.PACP_SEND,
    "_proxy/successor/send/notification": Dialect.PACP_SEND,
    "_proxy/successor/receive/request": Dialect.PACP_SEND,
    "_proxy/successor/receive/notification": Dialect.PACP_SEND,
}
"""Every envelope's method, and the era that its sender shows by using it."""


class Envelope(Struct, frozen=True, gc=False):
    """What an envelope holds; `extra` are members no era names, kept for the next hop."""

    method: str
    params: Raw | UnsetType = UNSET
    extra: bytes = b""


class _Flat(Struct, frozen=True, gc=False):
    method: str
    params: Raw | UnsetType = UNSET


class _Nested(Struct, frozen=True, gc=False):
    message: _Flat


_decode_flat = msgspec.json.Decoder(_Flat).decode
_decode_nested = msgspec.json.Decoder(_Nested).decode


def unwrap(params: Body | UnsetType, dialect: Dialect) -> Envelope | None:
    """What the envelope holds, one level deep; None if it is not one (acp-host §1.3)."""
    if params is UNSET:
        return None
    try:
        if ERAS[dialect].nested:
            inner = _decode_nested(params).message
            return Envelope(inner.method, inner.params)
        inner = _decode_flat(params)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _unwrap_slowly(params)
    return Envelope(inner.method, inner.params, _extra(inner, params))


def _unwrap_slowly(params: Body) -> Envelope | None:
    # The fast decoder refuses lone surrogates, which JSON allows.
    try:
        members = object_members(bytes(params).decode())
        if "message" in members:
            members = object_members(members["message"].decode())
        method = msgspec.json.decode(members["method"], type=str)
    except (ValueError, KeyError, RecursionError):
        return None
    return Envelope(method, Raw(members["params"]) if "params" in members else UNSET)


def _extra(inner: _Flat, params: Body) -> bytes:
    size = len(b'{"method":}') + len(quoted(inner.method))
    if inner.params is not UNSET:
        size += len(b',"params":') + memoryview(inner.params).nbytes
    if size == memoryview(params).nbytes:
        return b""
    members = object_members(bytes(params).decode())
    known = {"method", "params"}
    return b"".join(
        b",%b:%b" % (quoted(name), body) for name, body in members.items() if name not in known
    )


def wrap(dialect: Dialect, method: str, params: Body | UnsetType, extra: bytes = b"") -> bytes:
    """The params of an envelope that carries this message; which method goes with it is the `Era`'s to say."""
    inner = (
        b'"method":%b' % quoted(method)
        if params is UNSET
        else b'"method":%b,"params":%b' % (quoted(method), params)
    )
    if ERAS[dialect].nested:
        return b'{"message":{%b}}' % inner
    return b"{%b%b}" % (inner, extra)

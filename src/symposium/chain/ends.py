"""The ends of a route: plain or in successor envelopes, with ids rewritten.

The fast path handles only the canonical form: members in this order, without white space. Other
forms are decoded member by member, with the same result.

Handles cancellations (acp-host §1.8, §7.3 T6) and references to open requests (T7).
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from peerwire.acp.names import (
    CANONICAL,
    ENVELOPES,
    ERAS,
    INITIALIZE,
    PROXY_INITIALIZE,
    Era,
    Names,
    wrap,
)
from peerwire.errors import INVALID_REQUEST, METHOD_NOT_FOUND, RpcError
from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.messages import Message, id_key, quoted
from peerwire.jsonrpc.values import Body, decode_value
from symposium.chain.calls import SHUTTING_DOWN, ModCall
from symposium.chain.handshake import Initializer
from symposium.chain.link import Link, PeerState, Waiter
from symposium.chain.messages import ChainMessage

OPENING: Final = b'{"jsonrpc":"2.0","method":%b,"params":{' % quoted(
    ERAS[CANONICAL].to_proxy.notification
)
"""Beginning of a notification's canonical envelope."""

_PLAIN: Final = b'{"jsonrpc":"2.0",'
_INNER: Final = len(OPENING) - 1
"""Beginning of the message in an envelope."""

_END: Final = b"}"
_FRAME: Final = len(b'{"method":"","params":}')
"""Length of the message in an envelope, without name and params."""

_decode: Final = msgspec.json.Decoder(Message).decode


def opened(line: bytes) -> tuple[Message, bytes] | None:
    """Unwrap a notification that begins with `OPENING`: the message and its own line.

    None if it has other members, white space, or escapes in its name.
    """
    if not line.endswith(_END):
        return None
    inner = line[_INNER:-1]
    try:
        if not line.isascii():
            line.decode()
        message = _decode(inner)
    except (ValueError, RecursionError):
        return None
    method, params = message.method, message.params
    if method is UNSET or params is UNSET or len(inner) != _FRAME + len(method) + len(params):
        return None
    return message, _PLAIN + inner[1:]


def put_in(line: bytes) -> bytes | None:
    """Wrap a notification's line in the canonical envelope; None if it is not canonical."""
    if line.startswith(_PLAIN):
        return b"%b%b}" % (OPENING, line[len(_PLAIN) :])
    return None


_log = logging.getLogger(__name__)

CANCEL_REQUEST: Final = "$/cancel_request"

NAMES_HOP_IDS: Final = frozenset({"elicitation/create"})
"""Requests whose `requestId` is the id of a request that the sender is serving."""


class _Named(Struct, frozen=True, gc=False, rename={"request_id": "requestId"}):
    request_id: Raw | UnsetType = UNSET


_decode_named = msgspec.json.Decoder(_Named).decode


def cancelled_id(params: Body | UnsetType) -> bytes:
    """Key of the request named by a cancellation; an unused one if it names none."""
    named = None if params is UNSET else _request_id(params)
    return b"" if named is None else id_key(named)


def cancel_params(request_id: bytes) -> bytes:
    """Params of a cancellation for the connection on which the request has this id."""
    return b'{"requestId":%b}' % request_id


def translate_ids(message: ChainMessage, asked: Mapping[bytes, Waiter], sender: str) -> None:
    """Rewrite the id in a request to the id on the next connection.

    An id without an open request stays unchanged.
    """
    named = None if message.body is UNSET else _request_id(message.body)
    if named is None:
        return
    waiter = asked.get(id_key(named))
    if waiter is None or not waiter.request_id:
        shown = bytes(named)[:64].decode(errors="replace")
        _log.warning("%s named request %s, which is not open", sender, shown)
        return
    params: dict[str, Any] = message.params
    params["requestId"] = decode_value(waiter.request_id)
    message.replace(method=None, params=params)


def _request_id(params: Body) -> Raw | None:
    try:
        found = _decode_named(params).request_id
    except (ValueError, RecursionError):
        return None
    return None if found is UNSET else found


INITIALIZE_METHODS = frozenset({INITIALIZE, *PROXY_INITIALIZE})
"""Starts a component's handshake."""


class PlainEnd:
    """Send plain messages to a peer: to the client as its agent, else as its client."""

    def __init__(self, link: Link, initializer: Initializer | None = None) -> None:
        self._link = link
        self._kept = link.from_predecessor
        self._initializer = initializer

    def forward(self, message: Message, line: bytes) -> None:
        """Forward an unchanged notification as its original line."""
        del message
        self._kept.write(line)

    def notify(self, message: ChainMessage) -> None:
        """Forward a notification."""
        if message.method in ENVELOPES and self._is_agent():
            _log.warning("dropped an envelope for %s, which is not a proxy", self._link.name)
            return
        self._kept.write(
            message.line or wire.notification(message.method, message.encoded(), message.extra)
        )

    def ask(self, call: ModCall) -> None:
        """Forward a request; `initialize` starts the component's handshake."""
        message = call.message
        if self._initializer is not None and message.method in INITIALIZE_METHODS:
            self._initialize(self._initializer, call)
        elif message.method in ENVELOPES and self._is_agent():
            call.fail(RpcError(METHOD_NOT_FOUND, message.method))
        elif _can_be_asked(self._link, call):
            call.far_id = self._link.ask(call)
            self._kept.write(
                wire.request(call.far_id, message.method, message.encoded(), message.extra)
            )
            if self._link.passing is not None:
                self._link.passing.entered(message.method)

    def cancel(self, call: ModCall) -> None:
        """Send a cancellation to the peer."""
        if call.far_id is not None:
            line = wire.notification(CANCEL_REQUEST, cancel_params(call.far_id))
            # A handshake can be canceled, too; the requests that wait for it have their own calls.
            is_initialize = call.message.method in INITIALIZE_METHODS
            (self._link.transport.send if is_initialize else self._kept.write)(line)

    def _is_agent(self) -> bool:
        return self._initializer is not None and self._initializer.is_for_agent

    def _initialize(self, initializer: Initializer, call: ModCall) -> None:
        method = call.message.method
        if method in PROXY_INITIALIZE:
            reason = f"initialize/proxy: {method} is the conductor's to send; forward `initialize`"
            call.fail(RpcError(INVALID_REQUEST, reason))
        elif self._link.failure is not None:
            call.fail(self._link.failure)
        elif self._link.state is not PeerState.SPAWNING:
            call.fail(RpcError(INVALID_REQUEST, f"{self._link.name} has been initialized already"))
        else:
            initializer.initialize(self._link, call)


def to_proxy(era: Era) -> Names:
    """Names of a conductor's envelopes for a proxy."""
    return era.to_proxy


def to_conductor(era: Era) -> Names:
    """Names of a proxy's envelopes for its conductor."""
    return era.to_conductor


class SuccessorEnd:
    """Send envelopes to a peer: to a proxy as its successor, or to a conductor as its proxy."""

    def __init__(self, link: Link, names: Callable[[Era], Names] = to_proxy) -> None:
        self._link = link
        self._kept = link.from_successor
        self._names = names

    def forward(self, message: Message, line: bytes) -> None:
        """Forward an unchanged notification."""
        if self._link.dialect is CANONICAL and (envelope := put_in(line)) is not None:
            self._kept.write(envelope)
        elif message.method is not UNSET:
            extra = wire.extra_members(message, line)
            self._notify(message.method, message.params, extra)

    def notify(self, message: ChainMessage) -> None:
        """Forward a notification."""
        self._notify(message.method, message.encoded(), message.extra)

    def ask(self, call: ModCall) -> None:
        """Forward a request."""
        if _can_be_asked(self._link, call):
            dialect = self._link.dialect
            message = call.message
            params = wrap(dialect, message.method, message.encoded(), message.extra)
            call.far_id = self._link.ask(call)
            name = self._names(ERAS[dialect]).request
            self._kept.write(wire.request(call.far_id, name, params))

    def cancel(self, call: ModCall) -> None:
        """Send a cancellation to the peer."""
        if call.far_id is not None:
            self._notify(CANCEL_REQUEST, cancel_params(call.far_id), b"")

    def _notify(self, method: str, params: Body | UnsetType, extra: bytes) -> None:
        dialect = self._link.dialect
        name = self._names(ERAS[dialect]).notification
        self._kept.write(wire.notification(name, wrap(dialect, method, params, extra)))


def _can_be_asked(link: Link, call: ModCall) -> bool:
    if link.failure is not None:
        call.fail(link.failure)
        return False
    if link.state is PeerState.DRAINING or link.state is PeerState.CLOSED:
        call.fail(SHUTTING_DOWN)
        return False
    return True

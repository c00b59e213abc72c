"""The ends of a span: a link spoken to in plain messages, or in envelopes."""

import logging
from collections.abc import Callable

from msgspec import UNSET, UnsetType

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
from peerwire.jsonrpc.messages import Message
from peerwire.jsonrpc.values import Body
from symposium.conductor.call import Call
from symposium.conductor.component import Crossing
from symposium.conductor.gate import SHUTTING_DOWN
from symposium.conductor.handshake import Greeter
from symposium.conductor.hop_ids import CANCEL_REQUEST, cancel_params
from symposium.conductor.link import Link, PeerState
from symposium.conductor.relay import put_in

_log = logging.getLogger(__name__)

GREETINGS = frozenset({INITIALIZE, *PROXY_INITIALIZE})
"""What opens a component's handshake."""


class PlainEnd:
    """Speaks to a link's peer in plain messages: to the client as its agent, else as its client."""

    def __init__(self, link: Link, greeter: Greeter | None = None) -> None:
        self._link = link
        self._kept = link.from_predecessor
        self._greeter = greeter

    def forward(self, message: Message, line: bytes) -> None:
        """Take a notification that nobody touched, as the line it came in."""
        del message
        self._kept.write(line)

    def notify(self, crossing: Crossing) -> None:
        """Take a notification."""
        if crossing.method in ENVELOPES and self._is_agent():
            _log.warning("an envelope for %s is dropped: it is no proxy", self._link.name)
            return
        self._kept.write(
            crossing.line or wire.notification(crossing.method, crossing.encoded(), crossing.extra)
        )

    def ask(self, call: Call) -> None:
        """Take a request; `initialize` opens the component's handshake."""
        crossing = call.crossing
        if self._greeter is not None and crossing.method in GREETINGS:
            self._greet(self._greeter, call)
        elif crossing.method in ENVELOPES and self._is_agent():
            call.fail(RpcError(METHOD_NOT_FOUND, crossing.method))
        elif _can_be_asked(self._link, call):
            call.far_id = self._link.ask(call)
            self._kept.write(
                wire.request(call.far_id, crossing.method, crossing.encoded(), crossing.extra)
            )
            if self._link.passing is not None:
                self._link.passing.entered(crossing.method)

    def cancel(self, call: Call) -> None:
        """Tell the peer that the answer is not wanted any more."""
        if call.far_id is not None:
            line = wire.notification(CANCEL_REQUEST, cancel_params(call.far_id))
            # A handshake can be cancelled too; whatever else waits for it is cancelled in its turn.
            is_greeting = call.crossing.method in GREETINGS
            (self._link.transport.send if is_greeting else self._kept.write)(line)

    def _is_agent(self) -> bool:
        return self._greeter is not None and self._greeter.is_for_agent

    def _greet(self, greeter: Greeter, call: Call) -> None:
        method = call.crossing.method
        if method in PROXY_INITIALIZE:
            reason = f"initialize/proxy: {method} is the conductor's to send; forward `initialize`"
            call.fail(RpcError(INVALID_REQUEST, reason))
        elif self._link.failure is not None:
            call.fail(self._link.failure)
        elif self._link.state is not PeerState.SPAWNING:
            call.fail(RpcError(INVALID_REQUEST, f"{self._link.name} has been initialized already"))
        else:
            greeter.greet(self._link, call)


def to_proxy(era: Era) -> Names:
    """What a conductor calls its envelopes for a proxy."""
    return era.to_proxy


def to_conductor(era: Era) -> Names:
    """What a proxy calls its envelopes for its conductor."""
    return era.to_conductor


class SuccessorEnd:
    """Speaks to a link's peer in envelopes: to a proxy as its successor, or to it as a proxy."""

    def __init__(self, link: Link, names: Callable[[Era], Names] = to_proxy) -> None:
        self._link = link
        self._kept = link.from_successor
        self._names = names

    def forward(self, message: Message, line: bytes) -> None:
        """Take a notification that nobody touched."""
        if self._link.dialect is CANONICAL and (envelope := put_in(line)) is not None:
            self._kept.write(envelope)
        elif message.method is not UNSET:
            extra = wire.extra_members(message, line)
            self._notify(message.method, message.params, extra)

    def notify(self, crossing: Crossing) -> None:
        """Take a notification."""
        self._notify(crossing.method, crossing.encoded(), crossing.extra)

    def ask(self, call: Call) -> None:
        """Take a request."""
        if _can_be_asked(self._link, call):
            dialect = self._link.dialect
            crossing = call.crossing
            params = wrap(dialect, crossing.method, crossing.encoded(), crossing.extra)
            call.far_id = self._link.ask(call)
            name = self._names(ERAS[dialect]).request
            self._kept.write(wire.request(call.far_id, name, params))

    def cancel(self, call: Call) -> None:
        """Tell the peer that the answer is not wanted any more."""
        if call.far_id is not None:
            self._notify(CANCEL_REQUEST, cancel_params(call.far_id), b"")

    def _notify(self, method: str, params: Body | UnsetType, extra: bytes) -> None:
        dialect = self._link.dialect
        name = self._names(ERAS[dialect]).notification
        self._kept.write(wire.notification(name, wrap(dialect, method, params, extra)))


def _can_be_asked(link: Link, call: Call) -> bool:
    if link.failure is not None:
        call.fail(link.failure)
        return False
    if link.state is PeerState.DRAINING or link.state is PeerState.CLOSED:
        call.fail(SHUTTING_DOWN)
        return False
    return True

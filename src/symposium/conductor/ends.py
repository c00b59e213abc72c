"""The ends of a span: a link spoken to in plain messages, or in envelopes."""

from msgspec import UNSET

from peerwire.acp.names import ERAS, INITIALIZE, PROXY_INITIALIZE, Dialect, wrap
from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.errors import INVALID_REQUEST, RpcError
from peerwire.jsonrpc.messages import Message
from symposium.conductor.call import Call
from symposium.conductor.component import Crossing
from symposium.conductor.handshake import Greeter
from symposium.conductor.hop_ids import CANCEL_REQUEST, cancel_params
from symposium.conductor.link import Link, PeerState


class PlainEnd:
    """Speaks to a link's peer in plain messages: to the client as its agent, to a component as its client."""

    def __init__(self, link: Link, greeter: Greeter | None = None) -> None:
        self._link = link
        self._greeter = greeter

    def forward(self, message: Message, line: bytes) -> None:
        """Take a notification that nobody touched, as the line it came in."""
        del message
        self._link.send(line)

    def notify(self, crossing: Crossing) -> None:
        """Take a notification."""
        self._link.send(
            crossing.line or wire.notification(crossing.method, crossing.encoded(), crossing.extra)
        )

    def ask(self, call: Call) -> None:
        """Take a request; `initialize` opens the component's handshake."""
        crossing = call.crossing
        if self._greeter is not None and crossing.method in {INITIALIZE, *PROXY_INITIALIZE}:
            self._greet(self._greeter, call)
            return
        if self._link.failure is not None:
            call.fail(self._link.failure)
            return
        call.far_id = self._link.ask(call)
        self._link.send(
            wire.request(call.far_id, crossing.method, crossing.encoded(), crossing.extra)
        )

    def cancel(self, call: Call) -> None:
        """Tell the peer that the answer is not wanted any more."""
        if call.far_id is not None:
            # Not kept back with the rest: a handshake can be cancelled too.
            self._link.transport.send(wire.notification(CANCEL_REQUEST, cancel_params(call.far_id)))

    def _greet(self, greeter: Greeter, call: Call) -> None:
        if call.crossing.method in PROXY_INITIALIZE:
            reason = f"initialize/proxy: {call.crossing.method} is the conductor's to send; forward `initialize`"
            call.fail(RpcError(INVALID_REQUEST, reason))
        elif self._link.failure is not None:
            call.fail(self._link.failure)
        elif self._link.state is not PeerState.SPAWNING:
            call.fail(RpcError(INVALID_REQUEST, f"{self._link.name} has been initialized already"))
        else:
            greeter.greet(self._link, call)


class SuccessorEnd:
    """Speaks to a proxy's link in envelopes: as its successor, whichever component that is."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def forward(self, message: Message, line: bytes) -> None:
        """Take a notification that nobody touched."""
        if message.method is UNSET:
            return
        if self._link.dialect is Dialect.RUST_SDK:
            params = b"" if message.params is UNSET else b',"params":%b' % message.params
            extra = wire.extra_members(message, line)
            self._link.send(
                b'{"jsonrpc":"2.0","method":"_proxy/successor","params":{"method":%b%b%b}}'
                % (wire.quoted(message.method), params, extra)
            )
            return
        self.notify(Crossing(message.method, message.params, is_request=False))

    def notify(self, crossing: Crossing) -> None:
        """Take a notification."""
        dialect = self._link.dialect
        extra = crossing.extra or _extra_members(crossing.line)
        params = wrap(dialect, crossing.method, crossing.encoded(), extra)
        self._link.send(wire.notification(ERAS[dialect].notification, params))

    def ask(self, call: Call) -> None:
        """Take a request."""
        dialect = self._link.dialect
        crossing = call.crossing
        if crossing.method == INITIALIZE:
            self._link.greets_successor = True
        params = wrap(dialect, crossing.method, crossing.encoded(), crossing.extra)
        call.far_id = self._link.ask(call)
        self._link.send(wire.request(call.far_id, ERAS[dialect].request, params))

    def cancel(self, call: Call) -> None:
        """Tell the peer that the answer is not wanted any more."""
        if call.far_id is not None:
            dialect = self._link.dialect
            params = wrap(dialect, CANCEL_REQUEST, cancel_params(call.far_id))
            self._link.transport.send(wire.notification(ERAS[dialect].notification, params))


def _extra_members(line: bytes) -> bytes:
    """What JSON-RPC does not name in a message that came as this line and was looked at only."""
    message = wire.decode(line) if line else None
    return wire.extra_members(message, line) if isinstance(message, Message) else b""

"""Route messages between peers: lines in, deliveries out. No I/O.

It does not know sockets: the daemon carries out the actions that it returns. Only the daemon uses
this module; every other program uses `bus/client.py`.

After `hello`, a peer speaks version 2 and receives only messages addressed to it or subscribed.
Peers of the compat socket without `hello` speak version 1: each receives every line of the others
and its own, as from the reference's daemon (bus §1.2 to §1.5).
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct

from peerwire.jsonrpc.transport import OversizedLine
from symposium.bus import error_codes
from symposium.bus.broker_requests import (
    BrokerRequests,
    BusHistory,
    LegacyPeers,
    cancelled,
    passed_by,
)
from symposium.bus.envelope import (
    DAEMON_SENDER,
    Envelope,
    EnvelopeError,
    answer,
    envelope_of,
    id_of,
    read_envelope,
    refusal,
    stamped,
    version_one,
    version_one_response,
    write_envelope,
)
from symposium.bus.messages.broker import Traffic
from symposium.bus.peers import (
    EVERYTHING,
    BusPeer,
    Canonical,
    Peers,
    SocketKind,
    assign,
    plain_parts,
)
from symposium.bus.protocol import (
    MessageSpec,
    MessageTarget,
    PayloadError,
    Role,
    message_types,
    read_as,
)
from symposium.bus.refusals import (
    refuse,
    refuse_answer,
    refuse_legacy,
    refuse_overlong,
    refuse_type,
)
from symposium.bus.routing import (
    MAX_OPEN,
    Action,
    Deliver,
    OpenBusRequests,
    OpenRequest,
)

_UNSEEN: Final = frozenset({"presence", "who", "history", "daemon_status"})
"""Message types left out of the history."""


class _Received(Struct, frozen=True, gc=False):
    """A message, for the handler of its type.

    Attributes:
        peer: its sender.
        text: its line.
        envelope: the decoded line.
        about: its type.
        now: time of arrival, in seconds since the epoch.
    """

    peer: BusPeer
    text: bytes
    envelope: Envelope
    about: MessageSpec
    now: float


_Route: TypeAlias = Callable[[_Received], Sequence[Action]]
"""Handler of a message type."""


class Broker:
    """The connections of one bus and their open requests.

    Methods that handle a message or an end return the actions that the caller must carry out. Their
    parameter `now` is the system time, in seconds since the epoch, for texts and the history.

    Args:
        clock: monotonic clock for timeouts; unlike the system clock, it is never set.
        canonical: resolves paths for routing.
        history: stores past messages.
        boot: id of this run of the daemon.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        canonical: Canonical = plain_parts,
        history: BusHistory | None = None,
        boot: str = "",
    ) -> None:
        self._clock = clock
        self.peers = Peers(canonical)
        self.open = OpenBusRequests()
        self.history = history if history is not None else BusHistory()
        self.messages = 0
        """Number of messages received."""
        self.requests = BrokerRequests(self.peers, self.history, self.open, boot)
        self._legacy = LegacyPeers(self.peers, self.history)
        self._types = message_types()
        self._routes = {
            name: (self._route_of(kind.about), kind.about) for name, kind in self._types.items()
        }

    def connected(self, connection: str, socket_kind: SocketKind, now: float) -> None:
        """Add a peer."""
        self.peers.add(BusPeer(connection, socket_kind, now, connection))

    def disconnected(self, connection: str) -> list[Action]:
        """Remove a peer and answer its requests."""
        peer = self.peers.remove(connection)
        if peer is None:
            return []
        actions: list[Action] = []
        for request in self.open.concerning(connection):
            if request.asker == connection:
                self.open.close(request)
                actions += cancelled(request.id, request.answerers, self.peers)
                continue
            request.answerers.discard(connection)
            if not request.answerers:
                self.open.close(request)
                text = f"{peer.name} disconnected before it answered {request.type}"
                line = refusal(request.id, error_codes.GONE, text)
                actions += self._to_asker(request, line)
        return actions + (self.requests.left(peer) if peer.hello is not None else [])

    def expire(self) -> list[Action]:
        """Answer requests that timed out."""
        actions: list[Action] = []
        for request in self.open.overdue(self._clock()):
            text = f"{request.type} timed out"
            line = refusal(request.id, error_codes.TIMEOUT, text)
            actions += self._to_asker(request, line)
            actions += cancelled(request.id, request.answerers, self.peers)
        return actions

    def receive(
        self, connection: str, message: bytes | OversizedLine | Envelope, now: float
    ) -> Sequence[Action]:
        """Handle a line of a peer, or a message of a peer in this process."""
        peer = self.peers.get(connection)
        if peer is None or isinstance(message, OversizedLine):
            return refuse_overlong(peer, message)
        if isinstance(message, Envelope):
            text, envelope = write_envelope(message), message
        else:
            text = message.strip()
            try:
                envelope = read_envelope(text)
            except EnvelopeError as error:
                return self._unreadable(peer, text, now, str(error))
        self.messages += 1
        if peer.hello is None:
            return self._without_hello(peer, text, envelope, now)
        peer.sender = envelope.sender
        type_ = envelope.type
        copy = None if type_ in _UNSEEN else self._remember(peer, text, now)
        if type_ in peer.allowed_types:
            take, about = self._routes[type_]
            actions = take(_Received(peer, text, envelope, about, now))
        else:
            actions = refuse_type(peer, envelope, self._types)
        return actions if copy is None else [copy, *actions]

    def _without_hello(
        self, peer: BusPeer, text: bytes, envelope: Envelope, now: float
    ) -> Sequence[Action]:
        if envelope.type == "hello":
            return self.requests.hello(peer, envelope)
        if not peer.is_legacy:
            reason = "send hello first; a peer without a role cannot send anything else"
            return [refuse(peer, envelope.id, error_codes.HELLO_REQUIRED, reason)]
        peer.sender = envelope.sender
        copy = self._remember(peer, text, now)
        actions = self._from_legacy(peer, text, envelope, now)
        return actions if copy is None else [copy, *actions]

    def _unreadable(self, peer: BusPeer, text: bytes, now: float, reason: str) -> Sequence[Action]:
        if not text:
            return ()
        if not peer.is_legacy:
            return [refuse(peer, id_of(text), error_codes.BAD_MESSAGE, reason)]
        if text.startswith(b"#"):
            return self._legacy.control(peer, text)
        copy = self._remember(peer, text, now)
        actions = self._legacy.relay(text)
        return actions if copy is None else [copy, *actions]

    def _remember(self, peer: BusPeer, text: bytes, now: float) -> Action | None:
        """Add to the history; return the copy for subscribers of the traffic, if any."""
        self.history.add(now, peer.id, peer.name, text, is_legacy=peer.is_legacy)
        watchers = self.peers.subscribers(EVERYTHING)
        if not watchers:
            return None
        passed = passed_by(now, peer.id, peer.name, text, is_legacy=peer.is_legacy)
        news = Traffic(passed=self.history.logged(passed))
        return Deliver(watchers, write_envelope(envelope_of(news, DAEMON_SENDER)))

    def _route_of(self, about: MessageSpec) -> _Route:
        match about.target:
            case MessageTarget.BROKER:
                return self._is_for_broker
            case MessageTarget.ASKER:
                return self._to_requester
            case _:
                return self._ask if about.budget else self._announce

    def _is_for_broker(self, received: _Received) -> Sequence[Action]:
        peer, envelope = received.peer, received.envelope
        try:
            return self.requests.take(peer, envelope, received.now)
        except PayloadError as error:
            return [refuse(peer, envelope.id, error_codes.BAD_PAYLOAD, f"{envelope.type}: {error}")]

    def _ask(self, received: _Received) -> list[Action]:
        peer, envelope, about = received.peer, received.envelope, received.about
        if self.open.get(envelope.id) is not None:
            reason = "a request with this id is already open; use a new id"
            return [refuse(peer, envelope.id, error_codes.DUPLICATE, reason)]
        if self.open.count_of(peer.id) >= MAX_OPEN:
            reason = f"this peer already has {MAX_OPEN} open requests; wait for their responses"
            return [refuse(peer, envelope.id, error_codes.TOO_MANY, reason)]
        chosen = assign(about, envelope, peer, self.peers, received.now)
        if chosen is not None:
            answerers: tuple[str, ...] = (chosen.id,)
            line = stamped(received.text, envelope, peer.stamp)
        elif about.version == 1 and not peer.is_legacy and envelope.to is UNSET:
            answerers, line = self.peers.legacy(), version_one(envelope)
        else:
            answerers, line = (), b""
        if not answerers:
            reason = f"no connected peer handles {envelope.type}"
            return [refuse(peer, envelope.id, error_codes.NO_HANDLER, reason)]
        since = self._clock()
        self.open.add(
            OpenRequest(
                id=envelope.id,
                type=envelope.type,
                asker=peer.id,
                answerers=set(answerers),
                since=since,
                deadline=since + about.budget,
            )
        )
        decoded = None
        if chosen is not None and chosen.role is Role.DAEMON:
            decoded = msgspec.structs.replace(envelope, from_=peer.id)
        actions: list[Action] = [Deliver(answerers, line, decoded)]
        if about.is_public and chosen is not None:
            subscribers = self.peers.subscribers(about.type)
            others = tuple(each for each in subscribers if each not in {peer.id, chosen.id})
            actions += [Deliver(others, line)] if others else []
        return actions

    def _announce(self, received: _Received) -> Sequence[Action]:
        peer, envelope, about = received.peer, received.envelope, received.about
        legacy: tuple[str, ...] = ()
        if envelope.to is UNSET:
            receivers = self.peers.subscribers(about.type)
            if about.version == 1 and not peer.is_legacy:
                legacy = self.peers.legacy()
        else:
            # An addressed peer receives the announcement without a subscription.
            receivers = self.peers.meant(envelope.to)
        actions: list[Action] = []
        if receivers:
            actions.append(Deliver(receivers, stamped(received.text, envelope, peer.stamp)))
        if legacy:
            actions.append(Deliver(legacy, version_one(envelope)))
        if envelope.ack is True:
            data = Raw(b'{"delivered":%d}' % (len(receivers) + len(legacy)))
            actions.append(Deliver((peer.id,), answer(envelope, data)))
        return actions

    def _to_requester(self, received: _Received) -> Sequence[Action]:
        peer, envelope = received.peer, received.envelope
        is_response = envelope.type == "response"
        request_id = envelope.id if is_response else _about_request(envelope)
        request = self.open.get(request_id)
        if request is None or peer.id not in request.answerers:
            return refuse_answer(peer, envelope, request)
        if not is_response:
            return [Deliver((request.asker,), stamped(received.text, envelope, peer.stamp))]
        self.open.answered(request, self._clock())
        return self._to_asker(request, stamped(received.text, envelope, peer.stamp))

    def _to_asker(self, request: OpenRequest, line: bytes) -> list[Action]:
        asker = self.peers.get(request.asker)
        if asker is None:
            return []
        return [Deliver((asker.id,), version_one_response(line) if asker.is_legacy else line)]

    def _from_legacy(
        self, peer: BusPeer, text: bytes, envelope: Envelope, now: float
    ) -> Sequence[Action]:
        if envelope.type == "log":
            return ()
        actions = self._legacy.relay(text)
        if envelope.type == "marco":
            # The broker answers for servers of version 2, which would answer a second time.
            return actions + self.requests.polos(self.peers.legacy())
        kind = self._types.get(envelope.type)
        if kind is None or Role.LEGACY not in kind.about.sent_by:
            return actions + refuse_legacy(peer, envelope, kind, self.peers)
        take, about = self._routes[envelope.type]
        plain = msgspec.structs.replace(envelope, to=UNSET)
        # If no peer of version 2 handles it, one of version 1 may, so do not reject it first.
        if not about.budget or assign(about, plain, peer, self.peers, now) is not None:
            actions += take(_Received(peer, text, plain, about, now))
        return actions


def _about_request(envelope: Envelope) -> str:
    try:
        return str(read_as(dict[str, object], envelope.payload).get("request_id", ""))
    except PayloadError:
        return ""

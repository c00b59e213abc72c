"""One component's connection as the conductor holds it: what arrives is told apart and sent on its way, at once.

The hot path of the host. A notification that nobody intercepts costs one decoding of its envelope and goes on as the
bytes that came; everything is routed in the reader's own call, so order holds by construction (acp-host §1.5, R3).
Knows nothing of what the messages mean, but for the few that speak about ids of this very connection.
"""

import logging
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final, Protocol

from msgspec import UNSET

from peerwire.acp.names import CANONICAL, ENVELOPES, Dialect, unwrap
from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.batch import BatchReply, Slot
from peerwire.jsonrpc.codec import Overlong
from peerwire.jsonrpc.errors import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, RpcError
from peerwire.jsonrpc.messages import Batch, Malformed, Message
from peerwire.jsonrpc.values import decode_value, encode_value
from peerwire.transports.transport import Transport
from symposium.conductor.chain import Asker, Call, Way
from symposium.conductor.component import Answer, Crossing
from symposium.conductor.hop_ids import CANCEL_REQUEST, NAMES_HOP_IDS, cancelled_id, translate_ids

_log = logging.getLogger(__name__)

BACK_PRESSURE: Final = 16 * 1024 * 1024
"""Bytes waiting for a component before whoever writes to it from the client's side is made to wait.

Far above the mark for the stream towards the client: requests and answers must not wait for each other (R4).
"""

OVERFLOW: Final = 128 * 1024 * 1024
"""Bytes waiting for a peer that does not read before the connection counts as lost: two of the longest lines."""

_SPECIAL: Final = frozenset({CANCEL_REQUEST, *ENVELOPES})


class PeerState(Enum):
    """Where a connection stands in its life (acp-host §1.10)."""

    SPAWNING = "spawning"
    INITIALIZING = "initializing"
    READY = "ready"
    DRAINING = "draining"
    FAILED = "failed"
    CLOSED = "closed"


class Waiter(Protocol):
    """What waits for a response of this link's peer: a call, or the handshake."""

    def settle(self, answer: Answer) -> None:
        """Take the response."""
        ...


class LinkOwner(Protocol):
    """Who is told that a link has ended or cannot go on."""

    def link_ended(self, link: "Link", error: Exception | None) -> None:
        """The peer has written its last line."""
        ...

    def link_overflowed(self, link: "Link") -> None:
        """The peer has stopped reading, and too much waits for it."""
        ...


class Link:
    """One peer over one transport, and the ways that its messages take.

    Attributes:
        plain: where its plain messages go: towards the agent for the client, towards the client for all others.
        wrapped: where the messages in its envelopes go; None for a peer that has no successor.
        feeders: links whose stream towards the client ends here; they wait while this peer is slow.
        writers: links whose messages towards the agent end here; they wait when very much waits for this peer.
    """

    plain: Way
    wrapped: Way | None = None

    def __init__(self, name: str, transport: Transport, owner: LinkOwner) -> None:
        self.name = name
        self.transport = transport
        self.state = PeerState.SPAWNING
        self.dialect: Dialect = CANONICAL
        self.greets_successor = False
        self.feeders: list[Link] = []
        self.writers: list[Link] = []
        self.asked: dict[bytes, Waiter] = {}
        self.serving: dict[bytes, Call] = {}
        self.is_slow = False
        self.failure: RpcError | None = None
        self.on_quiet: Callable[[], None] | None = None
        self._owner = owner
        self._last_id = 0
        self._holds: set[object] = set()
        self._waiting: list[bytes] | None = None

    # -- writing

    def send(self, line: bytes) -> None:
        """Write a line, or keep it in order until the peer has answered `initialize`."""
        if self._waiting is None:
            self.transport.send(line)
        else:
            self._waiting.append(line)

    def ask(self, waiter: Waiter) -> bytes:
        """A fresh id of this hop, under which `waiter` gets the response."""
        self._last_id += 1
        key = b"%d" % self._last_id
        self.asked[key] = waiter
        return key

    def keep_until_ready(self) -> None:
        """From now on keep what is sent, but for what the handshake itself writes."""
        self.state = PeerState.INITIALIZING
        self._waiting = []

    def release(self) -> None:
        """Write what was kept, in order."""
        waiting, self._waiting = self._waiting, None
        for line in waiting or ():
            self.transport.send(line)

    # -- marks

    def hold(self, reason: object) -> None:
        """Stop reading this peer; it reads on when every reason has gone."""
        if not self._holds:
            self.transport.pause_reading()
        self._holds.add(reason)

    def let_go(self, reason: object) -> None:
        """Undo `hold` for this reason."""
        if reason in self._holds:
            self._holds.discard(reason)
            if not self._holds:
                self.transport.resume_reading()

    def writing_paused(self) -> None:
        """The peer is slow: those who stream to it wait, and others once very much has piled up."""
        self.is_slow = True
        for feeder in self.feeders:
            feeder.hold(self)
        backlog = self.transport.backlog
        if backlog > BACK_PRESSURE:
            for writer in self.writers:
                # A writer that is itself full waits for what this peer writes: holding it would close a circle.
                if not writer.is_slow:
                    writer.hold(self)
        if backlog > OVERFLOW:
            self._owner.link_overflowed(self)

    def writing_resumed(self) -> None:
        """The peer has caught up."""
        self.is_slow = False
        for other in (*self.feeders, *self.writers):
            other.let_go(self)

    # -- reading

    def lines_received(self, lines: Sequence[bytes | Overlong]) -> None:
        """Route what the peer wrote, in order."""
        plain = self.plain
        for line in lines:
            if isinstance(line, Overlong):
                self._overlong(line)
                continue
            message = wire.decode(line)
            if (
                isinstance(message, Message)
                and message.id is UNSET
                and (method := message.method) is not UNSET
                and method not in _SPECIAL
            ):
                plain = self.plain
                if plain.lanes.idle and not plain.steps.get(method, plain.other):
                    plain.far.forward(message, line)
                else:
                    plain.take(Crossing(method, message.params, is_request=False, line=line))
            else:
                self.receive(message, line, None)

    def receive(self, incoming: wire.Incoming, line: bytes, slot: Slot | None) -> None:
        """Route one message; `slot` is its place in a batch, if it came in one."""
        try:
            match incoming:
                case Message():
                    self._message(incoming, line, slot)
                case Batch(lines):
                    self._batch(lines)
                case Malformed(error, answer):
                    _log.warning("%s wrote what is no message: %s", self.name, error)
                    self._refuse(wire.NULL_ID, error if answer else None, slot)
        except Exception:  # the connection's boundary: our fault must not end the conversation
            _log.exception("could not route a message of %s", self.name)
            request_id = incoming.id if isinstance(incoming, Message) and incoming.method is not UNSET else UNSET
            self._refuse(b"" if request_id is UNSET else bytes(request_id), RpcError(INTERNAL_ERROR, "routing"), slot)

    def _message(self, message: Message, line: bytes, slot: Slot | None) -> None:
        if message.method is UNSET:
            self._response(message, line)
            if slot is not None:
                slot.done()
            return
        fault = wire.check(message)
        if fault is not None:
            _log.warning("%s wrote what is no message: %s", self.name, fault.error)
            self._refuse(b"" if message.id is UNSET else bytes(message.id), fault.error, slot)
        elif message.id is UNSET:
            self._notification(message.method, message, line)
            if slot is not None:
                slot.done()
        else:
            self._request(message.method, message, line, slot)

    def _refuse(self, request_id: bytes, error: RpcError | None, slot: Slot | None) -> None:
        if error is None or not request_id:
            if slot is not None:
                slot.done()
            return
        answer = wire.error_response(request_id, encode_value(error.body()))
        (self.transport.send if slot is None else slot.send)(answer)

    def _batch(self, lines: tuple[bytes, ...]) -> None:
        if not lines:
            self._refuse(wire.NULL_ID, RpcError(INVALID_REQUEST, "an empty batch"), None)
            return
        reply = BatchReply(len(lines), self.transport.send)
        for index, line in enumerate(lines):
            entry = wire.decode(line)
            if isinstance(entry, Batch):
                entry = Malformed(RpcError(INVALID_REQUEST, "a batch inside a batch"), answer=True)
            self.receive(entry, line, reply.slot(index))

    def _notification(self, method: str, message: Message, line: bytes) -> None:
        if method == CANCEL_REQUEST:
            self._cancelled(message.params)
            return
        if method not in ENVELOPES or self.wrapped is None:
            self.plain.take(Crossing(method, message.params, is_request=False, line=line))
            return
        envelope = unwrap(message.params, ENVELOPES[method])
        if envelope is None:
            _log.warning("%s sent an envelope without a method", self.name)
            return
        self._spoke(ENVELOPES[method], message.params)
        if envelope.method == CANCEL_REQUEST:
            self._cancelled(envelope.params)
            return
        crossing = Crossing(envelope.method, envelope.params, is_request=False)
        crossing.extra = envelope.extra
        self.wrapped.take(crossing)

    def _request(self, method: str, message: Message, line: bytes, slot: Slot | None) -> None:
        request_id = b"" if message.id is UNSET else bytes(message.id)
        way = self.plain
        if method in ENVELOPES and self.wrapped is not None:
            envelope = unwrap(message.params, ENVELOPES[method])
            if envelope is None:
                error = RpcError(INVALID_PARAMS, f"{method} needs params with the method of the message it carries")
                self._refuse(request_id, error, slot)
                return
            self._spoke(ENVELOPES[method], message.params)
            way = self.wrapped
            crossing = Crossing(envelope.method, envelope.params, is_request=True)
            crossing.extra = envelope.extra
        else:
            crossing = Crossing(method, message.params, is_request=True)
            crossing.extra = wire.extra_members(message, line)
        if crossing.method in NAMES_HOP_IDS:
            translate_ids(crossing, self.asked)
        asker: Asker = self if slot is None else BatchEntry(self, slot)
        call = Call(crossing, asker, request_id, way)
        self.serving[wire.id_key(request_id)] = call
        way.take(crossing, call)

    def _spoke(self, dialect: Dialect, params: Any) -> None:
        # The last envelope seen decides (R2.2), but the two eras that share a name are told apart by configuration only.
        del params
        if dialect is not self.dialect and not (dialect is Dialect.RUST_SDK and self.dialect is Dialect.SACP):
            self.dialect = dialect

    def _cancelled(self, params: Any) -> None:
        call = self.serving.get(cancelled_id(params))
        if call is not None:
            call.cancel()

    def _response(self, message: Message, line: bytes) -> None:
        key = wire.NULL_ID if message.id is UNSET else wire.id_key(message.id)
        waiter = self.asked.pop(key, None)
        if waiter is None:
            if key != wire.NULL_ID:
                _log.warning("%s answered id %s, which nothing waits for", self.name, key.decode(errors="replace"))
            return
        if message.error is not UNSET and message.result is not UNSET:
            waiter.settle(Answer(error=RpcError(INTERNAL_ERROR, f"{self.name} answered with both a result and an error")))
            return
        extra = wire.extra_members(message, line)
        if message.error is not UNSET:
            waiter.settle(Answer(error_body=message.error, extra=extra))
        else:
            waiter.settle(Answer(b"null" if message.result is UNSET else message.result, extra=extra))

    def _overlong(self, line: Overlong) -> None:
        data = {"reason": "line_too_long", "limit": line.limit, "peer": self.name}
        found = wire.early_id(line.head)
        if found is not None and found[1]:
            waiter = self.asked.pop(found[0], None)
            if waiter is not None:
                waiter.settle(Answer(error=RpcError(INTERNAL_ERROR, data)))
            return
        _log.warning("%s wrote a line of more than %d bytes; it is dropped", self.name, line.limit)
        self._refuse(wire.NULL_ID if found is None else found[0], RpcError(INVALID_REQUEST, data), None)

    # -- answering

    def answered(self, call: Call, answer: Answer) -> None:
        """Write the answer to a request of this peer."""
        self.forget(call)
        self.transport.send(answer.line(call.request_id))

    def forget(self, call: Call) -> None:
        """The call is answered: its id may come again."""
        key = wire.id_key(call.request_id)
        if self.serving.get(key) is call:
            del self.serving[key]
        if not self.serving and self.on_quiet is not None:
            self.on_quiet()

    # -- the end

    def ended(self, error: Exception | None) -> None:
        """The peer has written its last line."""
        self._owner.link_ended(self, error)

    def fail_asked(self, error: RpcError) -> None:
        """Answer everything that waits for this peer with an error (R7)."""
        asked, self.asked = self.asked, {}
        for waiter in asked.values():
            waiter.settle(Answer(error=error))

    def fail_serving(self, error: RpcError) -> None:
        """Answer everything this peer still waits for with an error."""
        for call in list(self.serving.values()):
            call.fail(error)

    def abandon(self) -> None:
        """This peer is gone: what it asked of others is cancelled, and nothing it hears from is held for it."""
        for call in list(self.serving.values()):
            call.cancel()
        self.serving.clear()
        self.is_slow = False
        for other in (*self.feeders, *self.writers):
            other.let_go(self)


class BatchEntry:
    """Whoever asked in a batch: its answer waits for the others'."""

    def __init__(self, link: Link, slot: Slot) -> None:
        self._link = link
        self._slot = slot

    def answered(self, call: Call, answer: Answer) -> None:
        """Put the answer in its slot."""
        self._link.forget(call)
        self._slot.send(answer.line(call.request_id))

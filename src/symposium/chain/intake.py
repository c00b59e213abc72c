"""Read the messages of one peer, and classify and route each at once.

This is the hot path. A notification without interceptors needs one decoding of its envelope, and
its bytes stay unchanged. Everything is routed within the reader's call, which keeps the order
(acp-host §1.5, R3). Only messages about ids of this connection are interpreted.
"""

import logging
from collections.abc import Sequence
from typing import Final

from msgspec import UNSET, UnsetType

from peerwire.acp.names import CANONICAL, ENVELOPES, INITIALIZE, AcpEnvelope, Dialect, unwrap
from peerwire.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    RpcError,
)
from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.messages import Batch, Malformed, Message
from peerwire.jsonrpc.replies import BatchReply, ReplyTarget, SingleReply
from peerwire.jsonrpc.transport import OversizedLine
from peerwire.jsonrpc.values import Body
from symposium.chain.calls import SHUTTING_DOWN, ModCall
from symposium.chain.ends import (
    CANCEL_REQUEST,
    NAMES_HOP_IDS,
    OPENING,
    cancelled_id,
    opened,
    translate_ids,
)
from symposium.chain.link import MAX_OPEN, OVERFLOW, Link, PeerState, initializes_successor
from symposium.chain.messages import Answer, ChainMessage

_log = logging.getLogger(__name__)

MAX_NOTIFIED: Final = 20
"""Maximum number of warnings about malformed lines per peer."""

_SPECIAL: Final = frozenset({CANCEL_REQUEST, *ENVELOPES})
_LOOKED_AT: Final = _SPECIAL | NAMES_HOP_IDS | {INITIALIZE}


class Intake:
    """Reading half of a link: handles the events of its transport."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._alone = SingleReply(link.transport.send)
        self._malformed_so_far = 0
        self.writing_paused = link.writing_paused
        self.writing_resumed = link.writing_resumed
        self.ended = link.ended

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        """Route the peer's messages in order."""
        link, decode = self._link, wire.decode
        is_proxy = link.wrapped is not None
        if link.on_lines is not None:
            link.on_lines(lines)
        for line in lines:
            if isinstance(line, OversizedLine):
                self.receive(_overlong(line, link.name), b"", self._alone)
                continue
            if is_proxy and line.startswith(OPENING) and self._relayed(line):
                continue
            message = decode(line)
            if (
                isinstance(message, Message)
                and message.id is UNSET
                and (method := message.method) is not UNSET
                and method not in _SPECIAL
            ):
                plain = link.plain
                if plain.queues.idle and not plain.steps.get(method, plain.other):
                    plain.far.forward(message, line)
                    continue
            self.receive(message, line, self._alone)

    def _relayed(self, line: bytes) -> bool:
        """Whether this was an enveloped notification without interceptors, now forwarded."""
        route = self._link.wrapped
        if route is None or not route.queues.idle or self._link.dialect is not CANONICAL:
            return False
        if (found := opened(line)) is None:
            return False
        message, plain = found
        method = message.method
        if method is UNSET or method in _SPECIAL or route.steps.get(method, route.other):
            return False
        route.far.forward(message, plain)
        return True

    def receive(self, incoming: wire.Incoming, line: bytes, place: ReplyTarget) -> None:
        """Route one message; its answer goes to `place`."""
        try:
            match incoming:
                case Message():
                    if incoming.method is not UNSET and incoming.id is UNSET:
                        # The handler validates the rest.
                        self._notification(incoming.method, incoming, line)
                        place.done()
                    elif place is not self._alone or not self._exchanged(incoming, line):
                        self._message(incoming, line, place)
                case Batch(lines):
                    self._batch(lines, place)
                case Malformed():
                    self._malformed(incoming, place)
        except Exception:  # noqa: BLE001 - error boundary: a bug costs only one message
            _log.exception("could not route a message of %s", self._link.name)
            self._give_up(incoming, place)

    def _give_up(self, incoming: wire.Incoming, place: ReplyTarget) -> None:
        error = RpcError(INTERNAL_ERROR, {"reason": "not_routed", "peer": self._link.name})
        if isinstance(incoming, Message) and incoming.method is not UNSET:
            if incoming.id is UNSET:
                place.done()
                return
            call = self._link.serving.get(wire.id_key(incoming.id))
            if call is not None and call.request_id == bytes(incoming.id):
                call.fail(error)
            else:
                _refuse(bytes(incoming.id), error, place)
        else:
            place.done()

    def _message(self, message: Message, line: bytes, place: ReplyTarget) -> None:
        if (fault := wire.check(message)) is not None:
            self._malformed(fault, place)
        elif message.method is UNSET:
            self._response(message, line)
            place.done()
        else:
            self._request(message.method, message, line, place)

    def _exchanged(self, message: Message, line: bytes) -> bool:
        """Whether this was a canonical request or result, now forwarded."""
        written = message.id
        if written is UNSET or message.error is not UNSET or not (key := bytes(written)).isdigit():
            return False
        if message.result is UNSET:
            return message.method is not UNSET and self._asked(key, message.method, message, line)
        if message.method is not UNSET or (waiter := self._link.asked.pop(key, None)) is None:
            return False
        waiter.settle(Answer(message.result, extra=wire.extra_members(message, line)))
        return True

    def _asked(self, key: bytes, method: str, decoded: Message, line: bytes) -> bool:
        link, params = self._link, decoded.params
        route = link.plain
        if method in _LOOKED_AT:
            return False
        if params is UNSET or not _is_object(params) or _refusal(link) is not None:
            return False
        message = ChainMessage(method, params, is_request=True)
        message.extra = wire.extra_members(decoded, line)
        call = ModCall(message, link, key, route)
        link.serve(call)
        if route.queues.idle and not route.steps.get(method, route.other):
            route.far.ask(call)
        else:
            route.take(message, call)
        return True

    def _malformed(self, malformed: Malformed, place: ReplyTarget) -> None:
        self._malformed_so_far += 1
        if self._malformed_so_far <= MAX_NOTIFIED:
            _log.warning("%s wrote an invalid message: %s", self._link.name, malformed.error)
        if self._malformed_so_far == MAX_NOTIFIED:
            # If the client does not read stderr, a full pipe would block this process.
            _log.warning("suppressing further warnings about %s", self._link.name)
        if malformed.answer:
            _refuse(malformed.id, malformed.error, place)
            return
        waiter = self._link.asked.pop(wire.id_key(malformed.id), None)
        if waiter is not None:
            waiter.settle(Answer(error=RpcError(INTERNAL_ERROR, malformed.error.data)))
        place.done()

    def _batch(self, lines: tuple[bytes, ...], place: ReplyTarget) -> None:
        if not lines or place is not self._alone:
            reason = "a batch inside a batch" if lines else "an empty batch"
            _refuse(wire.NULL_ID, RpcError(INVALID_REQUEST, reason), place)
            return
        reply = BatchReply(len(lines), self._link.transport.send)
        for index, line in enumerate(lines):
            self.receive(wire.decode(line), line, reply.slot(index))

    def _notification(self, method: str, decoded: Message, line: bytes) -> None:
        link = self._link
        if method == CANCEL_REQUEST:
            self._cancelled(decoded.params)
        elif method not in ENVELOPES or (link.wrapped is None and not link.plain.is_open):
            message = ChainMessage(method, decoded.params, is_request=False, line=line)
            message.message = decoded
            link.plain.take(message)
        elif link.wrapped is None:
            _log.warning("dropped an envelope from %s, which is not a proxy", link.name)
        elif (envelope := self._unwrapped(method, decoded.params)) is not None:
            if envelope.method == CANCEL_REQUEST:
                self._cancelled(envelope.params)
                return
            message = ChainMessage(envelope.method, envelope.params, is_request=False)
            message.extra = envelope.extra
            link.wrapped.take(message)
        elif method in link.wrapped.steps:
            link.wrapped.take(ChainMessage(method, decoded.params, is_request=False))
        else:
            _log.warning("%s sent an envelope without a method", link.name)

    def _request(self, method: str, decoded: Message, line: bytes, place: ReplyTarget) -> None:
        link = self._link
        request_id = b"" if decoded.id is UNSET else bytes(decoded.id)
        route = link.plain
        message = ChainMessage(method, decoded.params, is_request=True)
        if (refusal := _refusal(link)) is not None:
            _refuse(request_id, refusal, place)
            return
        if method in ENVELOPES and link.wrapped is not None:
            route = link.wrapped
            envelope = self._unwrapped(method, decoded.params)
            if envelope is not None:
                message = ChainMessage(envelope.method, envelope.params, is_request=True)
                message.extra = envelope.extra
                if link.passing is not None:
                    link.passing.left(envelope.method)
            elif method not in route.steps:
                reason = f"{method} needs params with the method of the message it carries"
                _refuse(request_id, RpcError(INVALID_PARAMS, reason), place)
                return
        elif method in ENVELOPES and route.is_open:
            _refuse(request_id, RpcError(METHOD_NOT_FOUND, method), place)
            return
        else:
            message.extra = wire.extra_members(decoded, line)
        if message.method in NAMES_HOP_IDS:
            translate_ids(message, link.asked, link.name)
        asker = link if place is self._alone else BatchEntry(link, place)
        call = ModCall(message, asker, request_id, route)
        link.serve(call)
        if message.method == INITIALIZE and route is link.wrapped:
            initializes_successor(link, call)
        route.take(message, call)

    def _unwrapped(self, method: str, params: Body | UnsetType) -> AcpEnvelope | None:
        """Unwrap an envelope; its name determines the peer's version (R2)."""
        link, shown = self._link, ENVELOPES[method]
        envelope = unwrap(params, shown)
        if envelope is None:
            return None
        # Two versions share a name; the metadata key or the known version decides.
        is_sacp = envelope.meta == "meta" or (link.dialect is Dialect.SACP and not envelope.meta)
        link.dialect = Dialect.SACP if is_sacp and shown is Dialect.RUST_SDK else shown
        return envelope

    def _cancelled(self, params: Body | UnsetType) -> None:
        call = self._link.serving.get(cancelled_id(params))
        if call is not None:
            call.cancel()

    def _response(self, message: Message, line: bytes) -> None:
        key = wire.NULL_ID if message.id is UNSET else wire.id_key(message.id)
        waiter = self._link.asked.pop(key, None)
        if waiter is None:
            _unasked(self._link, key)
            return
        extra = wire.extra_members(message, line)
        error = message.error
        if error is not UNSET and bytes(error) != b"null":
            waiter.settle(Answer(error_body=error, extra=extra))
        else:
            body = b"null" if message.result is UNSET else message.result
            waiter.settle(Answer(body, extra=extra))


def _unasked(link: Link, key: bytes) -> None:
    if key == wire.NULL_ID:
        # Some clients answer unknown notifications this way.
        _log.debug("%s answered an unknown id", link.name)
    elif key.isdigit() and 0 < int(key) <= link.last_id:
        _log.debug("%s answered %s late, or twice", link.name, key.decode())
    else:
        shown = key[:64].decode(errors="replace")
        _log.warning("%s answered id %s, which it was never asked", link.name, shown)


def _overlong(line: OversizedLine, name: str) -> Malformed:
    data = {"reason": "line_too_long", "limit": line.limit, "peer": name}
    request_id, is_response = wire.early_id(line.head, line.tail) or (wire.NULL_ID, False)
    return Malformed(RpcError(INVALID_REQUEST, data), answer=not is_response, id=request_id)


def _is_object(params: Body) -> bool:
    return memoryview(params)[0] == ord("{")


def _refusal(link: Link) -> RpcError | None:
    """Why this peer may not send requests: it is being closed, or has too many open."""
    if link.state is PeerState.DRAINING:
        return SHUTTING_DOWN
    if len(link.open) < MAX_OPEN and link.open_size <= OVERFLOW:
        return None
    # Keep reading: the peer's responses arrive on the same connection.
    limits = {"requests": MAX_OPEN, "bytes": OVERFLOW}
    reason = {"reason": "too_many_open_requests", "peer": link.name, "limits": limits}
    return RpcError(INTERNAL_ERROR, reason)


def _refuse(request_id: bytes, error: RpcError, place: ReplyTarget) -> None:
    place.send(Answer(error=error).line(request_id))


class BatchEntry:
    """Requester in a batch; its answer waits for the others."""

    def __init__(self, link: Link, place: ReplyTarget) -> None:
        self._link = link
        self._place = place

    def on_answer(self, call: ModCall, answer: Answer) -> None:
        """Store the answer in its slot."""
        self._link.forget(call, answer)
        self._place.send(answer.line(call.request_id))

"""Reads what one peer wrote: every message is told apart and sent on its way, at once.

The hot path of the host. A notification that nobody intercepts costs one decoding of its envelope and goes on as the
bytes that came; everything is routed in the reader's own call, so order holds by construction (acp-host §1.5, R3).
Knows nothing of what the messages mean, but for the few that speak about ids of this very connection.
"""

import logging
from collections.abc import Sequence
from typing import Final

from msgspec import UNSET, UnsetType

from peerwire.acp.names import ENVELOPES, Dialect, unwrap
from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.batch import BatchReply, Slot
from peerwire.jsonrpc.codec import Overlong
from peerwire.jsonrpc.errors import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, RpcError
from peerwire.jsonrpc.messages import Batch, Malformed, Message
from peerwire.jsonrpc.values import Body, encode_value
from symposium.conductor.call import Asker, Call
from symposium.conductor.component import Answer, Crossing
from symposium.conductor.hop_ids import CANCEL_REQUEST, NAMES_HOP_IDS, cancelled_id, translate_ids
from symposium.conductor.link import Link

_log = logging.getLogger(__name__)

_SPECIAL: Final = frozenset({CANCEL_REQUEST, *ENVELOPES})


class Intake:
    """The reading half of one link; what its transport tells is told here."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.writing_paused = link.writing_paused
        self.writing_resumed = link.writing_resumed
        self.ended = link.ended

    def lines_received(self, lines: Sequence[bytes | Overlong]) -> None:
        """Route what the peer wrote, in order."""
        link = self._link
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
                plain = link.plain
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
                    _log.warning("%s wrote what is no message: %s", self._link.name, error)
                    self._refuse(wire.NULL_ID, error if answer else None, slot)
        except Exception:  # the connection's boundary: our fault must not end the conversation
            _log.exception("could not route a message of %s", self._link.name)
            request_id = (
                incoming.id
                if isinstance(incoming, Message) and incoming.method is not UNSET
                else UNSET
            )
            self._refuse(
                b"" if request_id is UNSET else bytes(request_id),
                RpcError(INTERNAL_ERROR, "routing"),
                slot,
            )

    def _message(self, message: Message, line: bytes, slot: Slot | None) -> None:
        if message.method is UNSET:
            self._response(message, line)
            if slot is not None:
                slot.done()
            return
        fault = wire.check(message)
        if fault is not None:
            _log.warning("%s wrote what is no message: %s", self._link.name, fault.error)
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
        (self._link.transport.send if slot is None else slot.send)(answer)

    def _batch(self, lines: tuple[bytes, ...]) -> None:
        if not lines:
            self._refuse(wire.NULL_ID, RpcError(INVALID_REQUEST, "an empty batch"), None)
            return
        reply = BatchReply(len(lines), self._link.transport.send)
        for index, line in enumerate(lines):
            entry = wire.decode(line)
            if isinstance(entry, Batch):
                entry = Malformed(RpcError(INVALID_REQUEST, "a batch inside a batch"), answer=True)
            self.receive(entry, line, reply.slot(index))

    def _notification(self, method: str, message: Message, line: bytes) -> None:
        if method == CANCEL_REQUEST:
            self._cancelled(message.params)
            return
        if method not in ENVELOPES or self._link.wrapped is None:
            self._link.plain.take(Crossing(method, message.params, is_request=False, line=line))
            return
        envelope = unwrap(message.params, ENVELOPES[method])
        if envelope is None:
            _log.warning("%s sent an envelope without a method", self._link.name)
            return
        self._spoke(ENVELOPES[method])
        if envelope.method == CANCEL_REQUEST:
            self._cancelled(envelope.params)
            return
        crossing = Crossing(envelope.method, envelope.params, is_request=False)
        crossing.extra = envelope.extra
        self._link.wrapped.take(crossing)

    def _request(self, method: str, message: Message, line: bytes, slot: Slot | None) -> None:
        request_id = b"" if message.id is UNSET else bytes(message.id)
        way = self._link.plain
        if method in ENVELOPES and self._link.wrapped is not None:
            envelope = unwrap(message.params, ENVELOPES[method])
            if envelope is None:
                error = RpcError(
                    INVALID_PARAMS,
                    f"{method} needs params with the method of the message it carries",
                )
                self._refuse(request_id, error, slot)
                return
            self._spoke(ENVELOPES[method])
            way = self._link.wrapped
            crossing = Crossing(envelope.method, envelope.params, is_request=True)
            crossing.extra = envelope.extra
        else:
            crossing = Crossing(method, message.params, is_request=True)
            crossing.extra = wire.extra_members(message, line)
        if crossing.method in NAMES_HOP_IDS:
            translate_ids(crossing, self._link.asked)
        asker: Asker = self._link if slot is None else BatchEntry(self._link, slot)
        call = Call(crossing, asker, request_id, way)
        self._link.serving[wire.id_key(request_id)] = call
        way.take(crossing, call)

    def _spoke(self, dialect: Dialect) -> None:
        # The last envelope seen decides (R2.2), but the two eras that share a name are told apart by configuration only.
        if dialect is not self._link.dialect and not (
            dialect is Dialect.RUST_SDK and self._link.dialect is Dialect.SACP
        ):
            self._link.dialect = dialect

    def _cancelled(self, params: Body | UnsetType) -> None:
        call = self._link.serving.get(cancelled_id(params))
        if call is not None:
            call.cancel()

    def _response(self, message: Message, line: bytes) -> None:
        key = wire.NULL_ID if message.id is UNSET else wire.id_key(message.id)
        waiter = self._link.asked.pop(key, None)
        if waiter is None:
            if key != wire.NULL_ID:
                _log.warning(
                    "%s answered id %s, which nothing waits for",
                    self._link.name,
                    key.decode(errors="replace"),
                )
            return
        if message.error is not UNSET and message.result is not UNSET:
            waiter.settle(
                Answer(
                    error=RpcError(
                        INTERNAL_ERROR,
                        f"{self._link.name} answered with both a result and an error",
                    )
                )
            )
            return
        extra = wire.extra_members(message, line)
        if message.error is not UNSET:
            waiter.settle(Answer(error_body=message.error, extra=extra))
        else:
            waiter.settle(
                Answer(b"null" if message.result is UNSET else message.result, extra=extra)
            )

    def _overlong(self, line: Overlong) -> None:
        data = {"reason": "line_too_long", "limit": line.limit, "peer": self._link.name}
        found = wire.early_id(line.head)
        if found is not None and found[1]:
            waiter = self._link.asked.pop(found[0], None)
            if waiter is not None:
                waiter.settle(Answer(error=RpcError(INTERNAL_ERROR, data)))
            return
        _log.warning(
            "%s wrote a line of more than %d bytes; it is dropped", self._link.name, line.limit
        )
        self._refuse(
            wire.NULL_ID if found is None else found[0], RpcError(INVALID_REQUEST, data), None
        )


class BatchEntry:
    """Whoever asked in a batch: its answer waits for the others'."""

    def __init__(self, link: Link, slot: Slot) -> None:
        self._link = link
        self._slot = slot

    def answered(self, call: Call, answer: Answer) -> None:
        """Put the answer in its slot."""
        self._link.forget(call)
        self._slot.send(answer.line(call.request_id))

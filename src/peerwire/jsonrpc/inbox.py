"""What the peer wrote and nobody has taken yet: one after the other, in order, each once."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Literal

from msgspec import UNSET

from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.answering import Answering, error_body
from peerwire.jsonrpc.batch import Alone, BatchReply, Place, Send
from peerwire.jsonrpc.codec import Overlong
from peerwire.jsonrpc.errors import INTERNAL_ERROR, INVALID_REQUEST, RpcError
from peerwire.jsonrpc.messages import Batch, Malformed, Message
from peerwire.jsonrpc.open_requests import OpenRequests
from peerwire.jsonrpc.transport import Transport

CANCEL_REQUEST: Final = "$/cancel_request"

MAX_SHOWN: Final = 200
"""Bytes of a line that is not JSON-RPC that are logged."""

_log = logging.getLogger(__name__)


class Inbox:
    """Takes lines as they come; holds the rest of a read back while a handler starts.

    It holds two reads at most: the one that started a handler, and one more that found it waiting.
    """

    def __init__(
        self, transport: Transport, answering: Answering, asked: OpenRequests, send: Send
    ) -> None:
        self._transport = transport
        self._answering = answering
        self._asked = asked
        self._send = send
        self._alone = Alone(send)
        self._waiting: deque[tuple[bytes | Overlong, Place]] = deque()
        self._has_started_one = False
        self._holds_reading = False
        self._is_closed = False
        self._has_warned = False
        self._when_empty: Callable[[], None] | None = None

    def receive(self, lines: Sequence[bytes | Overlong]) -> None:
        """Take these lines behind those before them."""
        if self._is_closed:
            return
        self._waiting.extend([(line, self._alone) for line in lines])
        if not self._has_started_one:
            self._take_waiting()
        elif not self._holds_reading:
            self._holds_reading = True
            self._transport.pause_reading()

    def when_empty(self, then: Callable[[], None]) -> None:
        """Call `then` once everything is taken; at once, if it is."""
        self._when_empty = then
        if not self._waiting:
            then()

    def close(self) -> None:
        """Take nothing any more."""
        self._is_closed = True
        self._waiting.clear()

    def _take_waiting(self) -> None:
        self._has_started_one = False
        while self._waiting:
            line, place = self._waiting.popleft()
            if self._take(line, place):
                # Its coroutine is due in this turn of the loop; what follows, in the next: a
                # `session/cancel` finds the prompt before it at work.
                self._has_started_one = True
                asyncio.get_running_loop().call_soon(self._take_waiting)
                return
        if self._holds_reading and not self._is_closed:
            self._holds_reading = False
            self._transport.resume_reading()
        if self._when_empty is not None:
            self._when_empty()

    def _take(self, line: bytes | Overlong, place: Place) -> bool:
        """Handle one line; whether that started a coroutine."""
        incoming = _overlong(line) if isinstance(line, Overlong) else wire.decode(line)
        match incoming:
            case Message():
                return self._take_message(incoming, place)
            case Batch(lines):
                return self._take_batch(lines, place)
            case malformed:
                if not self._has_warned:
                    _warn_once(line)
                    self._has_warned = True
                return self._take_malformed(malformed, place)

    def _take_message(self, message: Message, place: Place) -> bool:
        fault = wire.check(message)
        if fault is not None:
            return self._take_malformed(fault, place)
        if message.method is UNSET:
            self._asked.settle(message)
            place.done()
        elif message.id is not UNSET:
            request_id = bytes(message.id)
            return self._answering.take_request(message.method, message, request_id, place)
        else:
            if message.method == CANCEL_REQUEST:
                self._answering.cancel(message)
            else:
                self._answering.take_notification(message.method, message)
            place.done()
        return False

    def _take_batch(self, lines: Sequence[bytes], place: Place) -> Literal[False]:
        if not lines or place is not self._alone:
            reason = "a batch inside a batch" if lines else "an empty batch"
            error = RpcError(INVALID_REQUEST, reason)
            return self._take_malformed(Malformed(error, answer=True), place)
        reply = BatchReply(len(lines), self._send)
        entries = [(line, reply.slot(index)) for index, line in enumerate(lines)]
        self._waiting.extendleft(reversed(entries))
        return False

    def _take_malformed(self, malformed: Malformed, place: Place) -> Literal[False]:
        _log.debug("the peer wrote an invalid message: %s", malformed.error.message)
        if malformed.answer:
            place.send(wire.error_response(malformed.id, error_body(malformed.error)))
        else:
            self._asked.fail(malformed.id, RpcError(INTERNAL_ERROR, malformed.error.data))
            place.done()
        return False


def _warn_once(line: bytes | Overlong) -> None:
    """Show the first line that is not JSON-RPC: a program of another kind writes many."""
    head = line.head if isinstance(line, Overlong) else line
    text = head[:MAX_SHOWN].decode(errors="replace").encode("unicode_escape").decode()
    _log.warning("the peer wrote text that is not JSON-RPC; the first line: %s", text)


def _overlong(line: Overlong) -> Malformed:
    error = RpcError(INVALID_REQUEST, {"reason": "line_too_long", "limit": line.limit})
    request_id, is_response = wire.early_id(line.head, line.tail) or (wire.NULL_ID, False)
    return Malformed(error, answer=not is_response, id=request_id)

"""Requests of a connection: the incoming queue, and pending replies in both directions.

It does not know what a method means, except `$/cancel_request`, or how a transport moves lines.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast

from msgspec import UNSET, Struct

from peerwire.errors import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    ConnectionClosedError,
    ErrorBoundary,
    RpcError,
    invalid_params,
    rpc_error_of,
)
from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.handlers import Handlers, Request
from peerwire.jsonrpc.messages import (
    NULL_ID,
    Batch,
    Malformed,
    Message,
    error_body,
    error_response,
    id_key,
    quote,
    result_response,
    rpc_error,
)
from peerwire.jsonrpc.replies import BatchReply, ReplyTarget, Send, SingleReply
from peerwire.jsonrpc.transport import OversizedLine, Transport
from peerwire.jsonrpc.values import decode_value, encode_value

MAX_RUNNING: Final = 10_000
"""Maximum pending requests of one peer; each takes a task and its params."""

_log = logging.getLogger(__name__)


class _Owed(Struct):
    request: Request
    reply: Awaitable[Any]
    place: ReplyTarget
    has_begun: bool = False


class IncomingRequests:
    """Call the handlers; asynchronous handlers run as tasks of a given group."""

    def __init__(self, handlers: Handlers, tasks: asyncio.TaskGroup) -> None:
        self._handlers = handlers
        self._tasks = tasks
        self._running: dict[asyncio.Task[None], _Owed] = {}
        self._is_ending = False

    def take_request(
        self, method: str, message: Message, request_id: bytes, place: ReplyTarget
    ) -> bool:
        """Answer a request; return whether a coroutine was started, which has not run yet."""
        try:
            request = Request(method, _params(message), request_id)
        except ValueError as reason:
            error = invalid_params(str(reason), quote(bytes(message.params or b"")))
            self._refuse(Request(method, None, request_id), error, place)
            return False
        handler = self._handlers.requests.get(method, self._handlers.other_request)
        if handler is None:
            self._refuse(request, RpcError(METHOD_NOT_FOUND, method), place)
            return False
        if len(self._running) >= MAX_RUNNING:
            data = {"reason": "too_many_open_requests", "limit": MAX_RUNNING}
            self._refuse(request, RpcError(INTERNAL_ERROR, data), place)
            return False
        reply: Any = None
        with ErrorBoundary() as caught:
            reply = handler(request)
        if hasattr(reply, "__await__"):
            self._start(request, reply, place)
            return True
        self._answer(request, reply, caught.error, place)
        return False

    def take_notification(self, method: str, message: Message) -> None:
        """Call the handler of a notification."""
        handler = self._handlers.notifications.get(method)
        other = self._handlers.other_notification
        with ErrorBoundary() as caught:
            params = _params(message)
            if handler is not None:
                handler(params)
            elif other is not None:
                other(method, params)
        if caught.error is not None:
            _log.error("the handler of notification %s failed", method, exc_info=caught.error)

    def cancel(self, message: Message) -> None:
        """Cancel the request that the message names; ignore invalid ones (acp-host §1.8)."""
        try:
            params = _params(message)
            if not isinstance(params, Mapping):
                return
            named = cast("Mapping[str, Any]", params)
            if "requestId" not in named:
                return
            key = id_key(encode_value(named["requestId"]))
        except ValueError:
            return
        for task, owed in self._running.items():
            cancellation = owed.request.cancellation
            if not cancellation.is_requested and id_key(owed.request.id) == key:
                cancellation.is_requested = True
                task.cancel()

    def stop(self) -> int:
        """End the connection: cancel running handlers, which still reply; return their number."""
        self._is_ending = True
        for task in self._running:
            task.cancel()
        return len(self._running)

    def _start(self, request: Request, reply: Awaitable[Any], place: ReplyTarget) -> None:
        owed = _Owed(request, reply, place)
        task = self._tasks.create_task(self._answer_later(owed))
        self._running[task] = owed
        task.add_done_callback(self._finished)

    async def _answer_later(self, owed: _Owed) -> None:
        owed.has_begun = True
        result: Any = None
        with ErrorBoundary() as caught:
            try:
                result = await owed.reply
            except asyncio.CancelledError:
                # The peer still expects a reply, whichever side canceled.
                self._refuse(owed.request, self._reason_of_cancellation(owed.request), owed.place)
                raise
        self._answer(owed.request, result, caught.error, owed.place)

    def _finished(self, task: asyncio.Task[None]) -> None:
        owed = self._running.pop(task)
        if not owed.has_begun:
            # A task that is canceled before its first step never calls its coroutine.
            if asyncio.iscoroutine(owed.reply):
                owed.reply.close()
            self._refuse(owed.request, self._reason_of_cancellation(owed.request), owed.place)

    def _reason_of_cancellation(self, request: Request) -> RpcError:
        if request.cancellation.is_requested:
            return RpcError(REQUEST_CANCELLED)
        reason = "the connection ends" if self._is_ending else "the handler gave up"
        return RpcError(INTERNAL_ERROR, {"reason": reason})

    def _answer(
        self, request: Request, result: Any, error: Exception | None, place: ReplyTarget
    ) -> None:
        body = b""
        if error is None:
            with ErrorBoundary() as caught:  # encoding may call methods of the value's class
                body = encode_value(result)
            error = caught.error
        if error is None:
            place.send(result_response(request.id, body))
        else:
            self._refuse(request, error, place)

    def _refuse(self, request: Request, error: Exception, place: ReplyTarget) -> None:
        if not isinstance(error, RpcError):
            _log.error("the handler of %s failed", request.method, exc_info=error)
        place.send(error_response(request.id, error_body(rpc_error_of(error))))


def _params(message: Message) -> Any:
    return None if message.params is UNSET else decode_value(message.params)


OnResult: TypeAlias = Callable[[Any], None]

MAX_SHOWN_ID: Final = 64
"""Maximum bytes of a peer's id in a log line."""


class Failure(Struct, frozen=True):
    """An error response as a value, so that it needs no waiter."""

    error: Exception


class _Open(Struct, frozen=True):
    answer: asyncio.Future[Any]
    on_result: OnResult | None


class OutgoingRequests:
    """Assign ids and match responses; ids are never reused, so a late response matches none."""

    def __init__(self) -> None:
        self._open: dict[bytes, _Open] = {}
        self._last_id = 0
        self._over: str | None = None

    def add(self, on_result: OnResult | None = None) -> tuple[bytes, asyncio.Future[Any]]:
        """Add a request; return its id, and the future of its result or `Failure`.

        Raises:
            ConnectionClosedError: the connection is closed.
        """
        if self._over is not None:
            raise ConnectionClosedError(self._over)
        key = self.skip()
        answer = asyncio.get_running_loop().create_future()
        self._open[key] = _Open(answer, on_result)
        return key, answer

    def skip(self) -> bytes:
        """Return the id of a request whose response is ignored."""
        self._last_id += 1
        return b"%d" % self._last_id

    def give_up(self, key: bytes) -> bool:
        """Stop waiting for this response; return whether it was pending."""
        return self._open.pop(key, None) is not None

    def settle(self, response: Message) -> None:
        """Pass a response to its waiter."""
        key = NULL_ID if response.id is UNSET else id_key(response.id)
        waiting = self._open.pop(key, None)
        if waiting is None:
            self._log_unexpected(key, response)
        elif not waiting.answer.done():
            outcome = _outcome(response, waiting.on_result)
            # `on_result` may have canceled the waiter.
            if not waiting.answer.done():
                waiting.answer.set_result(outcome)

    def fail(self, key: bytes, error: Exception) -> None:
        """Report an unreadable response to this request."""
        waiting = self._open.pop(id_key(key), None)
        if waiting is not None and not waiting.answer.done():
            waiting.answer.set_result(Failure(error))

    def fail_all(self, reason: str) -> int:
        """Fail all pending requests; return their number."""
        count = len(self._open)
        if self._over is None:
            self._over = reason
        for waiting in self._open.values():
            if not waiting.answer.done():
                waiting.answer.set_result(Failure(ConnectionClosedError(self._over)))
        self._open.clear()
        return count

    def _log_unexpected(self, key: bytes, response: Message) -> None:
        shown = key[:MAX_SHOWN_ID].decode(errors="replace")
        if key == NULL_ID and response.error is not UNSET:
            _log.warning("the peer could not read a message: %s", rpc_error(response.error))
        elif len(key) < MAX_SHOWN_ID and key.isdigit() and int(key) <= self._last_id:
            _log.debug("late response to request %s, which was abandoned", shown)
        else:
            _log.warning("response to an unknown request: id %s", shown)


def _outcome(response: Message, on_result: OnResult | None) -> Any:
    result, error = response.result, response.error
    # Some peers write both members, one of them null.
    if error is not UNSET and (result is UNSET or bytes(error) != NULL_ID):
        return Failure(rpc_error(error))
    try:
        value = None if result is UNSET else decode_value(result)
    except ValueError as reason:
        data = {"reason": f"the answer cannot be read: {reason}"}
        return Failure(RpcError(INTERNAL_ERROR, data))
    if on_result is not None:
        with ErrorBoundary() as caught:
            on_result(value)
        if caught.error is not None:
            return Failure(caught.error)
    return value


CANCEL_REQUEST: Final = "$/cancel_request"

MAX_SHOWN: Final = 200
"""Maximum logged bytes of a line that is not JSON-RPC."""


class IncomingQueue:
    """Handle lines in order; hold back the rest of a read while a handler starts.

    It holds at most two reads: the one that started a handler, and the next one.
    """

    def __init__(
        self, transport: Transport, answering: IncomingRequests, asked: OutgoingRequests, send: Send
    ) -> None:
        self._transport = transport
        self._answering = answering
        self._asked = asked
        self._send = send
        self._alone = SingleReply(send)
        self._waiting: deque[tuple[bytes | OversizedLine, ReplyTarget]] = deque()
        self._has_started_one = False
        self._holds_reading = False
        self._is_closed = False
        self._has_warned = False
        self._when_empty: Callable[[], None] | None = None

    def receive(self, lines: Sequence[bytes | OversizedLine]) -> None:
        """Append lines, and handle them in order."""
        if self._is_closed:
            return
        self._waiting.extend([(line, self._alone) for line in lines])
        if not self._has_started_one:
            self._take_waiting()
        elif not self._holds_reading:
            self._holds_reading = True
            self._transport.pause_reading()

    def when_empty(self, then: Callable[[], None]) -> None:
        """Call `then` when the queue is empty, immediately if it is."""
        self._when_empty = then
        if not self._waiting:
            then()

    def close(self) -> None:
        """Discard waiting lines, and ignore later ones."""
        self._is_closed = True
        self._waiting.clear()

    def _take_waiting(self) -> None:
        self._has_started_one = False
        while self._waiting:
            line, place = self._waiting.popleft()
            if self._take(line, place):
                # Handle later lines in the next loop iteration, after the coroutine has started:
                # a `session/cancel` must find the earlier prompt running.
                self._has_started_one = True
                asyncio.get_running_loop().call_soon(self._take_waiting)
                return
        if self._holds_reading and not self._is_closed:
            self._holds_reading = False
            self._transport.resume_reading()
        if self._when_empty is not None:
            self._when_empty()

    def _take(self, line: bytes | OversizedLine, place: ReplyTarget) -> bool:
        """Handle one line; return whether that started a coroutine."""
        incoming = _overlong(line) if isinstance(line, OversizedLine) else wire.decode(line)
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

    def _take_message(self, message: Message, place: ReplyTarget) -> bool:
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

    def _take_batch(self, lines: Sequence[bytes], place: ReplyTarget) -> Literal[False]:
        if not lines or place is not self._alone:
            reason = "a batch inside a batch" if lines else "an empty batch"
            error = RpcError(INVALID_REQUEST, reason)
            return self._take_malformed(Malformed(error, answer=True), place)
        reply = BatchReply(len(lines), self._send)
        entries = [(line, reply.slot(index)) for index, line in enumerate(lines)]
        self._waiting.extendleft(reversed(entries))
        return False

    def _take_malformed(self, malformed: Malformed, place: ReplyTarget) -> Literal[False]:
        _log.debug("the peer wrote an invalid message: %s", malformed.error.message)
        if malformed.answer:
            place.send(wire.error_response(malformed.id, error_body(malformed.error)))
        else:
            self._asked.fail(malformed.id, RpcError(INTERNAL_ERROR, malformed.error.data))
            place.done()
        return False


def _warn_once(line: bytes | OversizedLine) -> None:
    """Log the first line that is not JSON-RPC, because other programs write many."""
    head = line.head if isinstance(line, OversizedLine) else line
    text = head[:MAX_SHOWN].decode(errors="replace").encode("unicode_escape").decode()
    _log.warning("the peer wrote text that is not JSON-RPC; the first line: %s", text)


def _overlong(line: OversizedLine) -> Malformed:
    error = RpcError(INVALID_REQUEST, {"reason": "line_too_long", "limit": line.limit})
    request_id, is_response = wire.early_id(line.head, line.tail) or (wire.NULL_ID, False)
    return Malformed(error, answer=not is_response, id=request_id)

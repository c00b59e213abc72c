"""One side of a JSON-RPC conversation: it asks, it answers, and it is told.

For programs that are an end of the wire (an agent, a client, a test). What only passes messages on does not decode
them and is not built on this.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any, Final, TypeAlias

from msgspec import UNSET, UnsetType

from peerwire.errors import ConnectionClosedError
from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.batch import BatchReply
from peerwire.jsonrpc.codec import Overlong
from peerwire.jsonrpc.errors import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    RpcError,
)
from peerwire.jsonrpc.messages import Batch, Malformed, Message
from peerwire.jsonrpc.values import Body, decode_value, encode_value
from peerwire.transports.transport import Transport

CANCEL_REQUEST: Final = "$/cancel_request"
MAX_BACKLOG: Final = 16 * 1024 * 1024
"""Bytes of answers the peer may leave unread before we stop reading its questions."""

_log = logging.getLogger(__name__)

Send: TypeAlias = Callable[[bytes], None]
Reply: TypeAlias = Any | Awaitable[Any]


@dataclass(frozen=True, slots=True)
class Request:
    """What a request handler is given.

    Attributes:
        method: the method as the peer wrote it.
        params: the decoded params; None where there were none.
        id: the JSON text of the id, as other messages of this hop may refer to it.
    """

    method: str
    params: Any
    id: bytes


RequestHandler: TypeAlias = Callable[[Request], Reply]
NotificationHandler: TypeAlias = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class Handlers:
    """What one end does with what it gets; a request nobody handles is answered `-32601`.

    Request handlers may be plain functions or coroutine functions; notification handlers are plain functions, so that
    notifications take effect in the order they arrive, before whatever was written after them.
    """

    requests: Mapping[str, RequestHandler] = field(default_factory=dict[str, RequestHandler])
    notifications: Mapping[str, NotificationHandler] = field(
        default_factory=dict[str, NotificationHandler]
    )
    other_request: RequestHandler | None = None
    other_notification: Callable[[str, Any], None] | None = None


@dataclass(slots=True)
class _Asked:
    answer: asyncio.Future[Any]
    on_result: Callable[[Any], None] | None


class Connection:
    """A peer over one transport; `run` owns every task it starts."""

    def __init__(self, transport: Transport, handlers: Handlers) -> None:
        self._transport = transport
        self._handlers = handlers
        self._asked: dict[bytes, _Asked] = {}
        self._answering: dict[bytes, asyncio.Task[None]] = {}
        self._last_id = 0
        self._ended = asyncio.Event()
        self._over: Exception | None = None
        self._tasks: asyncio.TaskGroup | None = None
        self._holds_reading = False

    # -- life

    async def run(self) -> None:
        """Serve until the peer ends the connection or the caller cancels; then nothing of ours is left running."""
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                self._transport.start(self)
                await self._ended.wait()
                for task in self._answering.values():
                    task.cancel()
        finally:
            self._fail_all(ConnectionClosedError("the connection has ended"))
            await self._transport.aclose()

    def close(self) -> None:
        """Let `run` return; what was sent before is still written."""
        self._ended.set()

    async def drain(self) -> None:
        """Wait until the peer has read most of what was sent: the brake of whoever produces much."""
        await self._transport.drain()

    # -- asking

    async def request(
        self, method: str, params: Any = None, *, on_result: Callable[[Any], None] | None = None
    ) -> Any:
        """Ask the peer and wait for the result.

        Args:
            method: what to ask.
            params: anything JSON can say; None sends none.
            on_result: called with the result before any later message of the peer is handled.

        Raises:
            RpcError: the peer answered with an error.
            ConnectionClosedError: the connection ended before the answer.
        """
        if self._over is not None:
            raise self._over
        self._last_id += 1
        key = b"%d" % self._last_id
        asked = _Asked(asyncio.get_running_loop().create_future(), on_result)
        self._asked[key] = asked
        self._transport.send(wire.request(key, method, _body(params)))
        try:
            return await asked.answer
        except asyncio.CancelledError:
            if self._asked.pop(key, None) is not None:
                self.notify(CANCEL_REQUEST, {"requestId": int(key)})
            raise

    def notify(self, method: str, params: Any = None) -> None:
        """Tell the peer; nothing comes back."""
        self._transport.send(wire.notification(method, _body(params)))

    # -- what the transport tells us

    def lines_received(self, lines: Sequence[bytes | Overlong]) -> None:
        """Take what the peer wrote, in order."""
        for line in lines:
            if isinstance(line, Overlong):
                self._overlong(line)
            else:
                self._take(wire.decode(line), self._transport.send)

    def writing_paused(self) -> None:
        """The peer is slow to read; `drain` waits, and so do its questions once much has piled up."""

    def writing_resumed(self) -> None:
        """The peer has caught up."""
        if self._holds_reading:
            self._holds_reading = False
            self._transport.resume_reading()

    def ended(self, error: Exception | None) -> None:
        """The peer will write no more."""
        reason = (
            "the peer ended the connection" if error is None else f"the connection broke: {error}"
        )
        self._fail_all(ConnectionClosedError(reason))
        self._ended.set()

    # -- one message

    def _take(
        self, incoming: wire.Incoming, send: Send, done: Callable[[], None] | None = None
    ) -> None:
        match incoming:
            case Batch():
                self._take_batch(incoming, send)
            case Malformed(error, answer):
                _log.warning("unreadable message from the peer: %s", error)
                if answer:
                    send(wire.error_response(wire.NULL_ID, encode_value(error.body())))
                elif done is not None:
                    done()
            case Message():
                fault = wire.check(incoming)
                if fault is not None:
                    self._refuse(incoming, fault, send, done)
                elif incoming.method is UNSET:
                    self._settle(incoming)
                elif incoming.id is UNSET:
                    self._notified(incoming.method, incoming)
                else:
                    self._asked_of_us(incoming.method, incoming, bytes(incoming.id), send)
                    return
                if done is not None:
                    done()

    def _take_batch(self, batch: Batch, send: Send) -> None:
        if not batch.lines:
            error = RpcError(INVALID_REQUEST, "an empty batch")
            send(wire.error_response(wire.NULL_ID, encode_value(error.body())))
            return
        reply = BatchReply(len(batch.lines), send)
        for index, line in enumerate(batch.lines):
            slot = reply.slot(index)
            entry = wire.decode(line)
            if isinstance(entry, Batch):
                entry = Malformed(RpcError(INVALID_REQUEST, "a batch inside a batch"), answer=True)
            self._take(entry, slot.send, slot.done)

    def _refuse(
        self, message: Message, fault: Malformed, send: Send, done: Callable[[], None] | None
    ) -> None:
        if message.id is UNSET and message.method is not UNSET and done is not None:
            done()
        elif message.id is not UNSET or message.method is UNSET:
            request_id = wire.NULL_ID if message.id is UNSET else message.id
            send(wire.error_response(request_id, encode_value(fault.error.body())))

    def _overlong(self, line: Overlong) -> None:
        error = RpcError(INVALID_REQUEST, {"reason": "line_too_long", "limit": line.limit})
        found = wire.early_id(line.head)
        if found is not None and found[1]:
            asked = self._asked.pop(found[0], None)
            if asked is not None and not asked.answer.done():
                asked.answer.set_exception(RpcError(INTERNAL_ERROR, error.data))
            return
        request_id = wire.NULL_ID if found is None else found[0]
        self._transport.send(wire.error_response(request_id, encode_value(error.body())))

    def _settle(self, response: Message) -> None:
        key = wire.NULL_ID if response.id is UNSET else wire.id_key(response.id)
        asked = self._asked.pop(key, None)
        if asked is None or asked.answer.done():
            _log.debug("a response to nothing we wait for: id %s", key)
            return
        if response.error is not UNSET:
            asked.answer.set_exception(wire.rpc_error(response.error))
            return
        result = None if response.result is UNSET else decode_value(response.result)
        if asked.on_result is not None:
            asked.on_result(result)
        asked.answer.set_result(result)

    def _notified(self, method: str, message: Message) -> None:
        params = None if message.params is UNSET else decode_value(message.params)
        if method == CANCEL_REQUEST:
            self._cancelled(params)
            return
        handler = self._handlers.notifications.get(method)
        try:
            if handler is not None:
                handler(params)
            elif self._handlers.other_notification is not None:
                self._handlers.other_notification(method, params)
        except (
            Exception
        ):  # the connection's boundary: a handler's fault must not end the conversation
            _log.exception("the handler of notification %s failed", method)

    def _cancelled(self, params: Any) -> None:
        if isinstance(params, Mapping) and "requestId" in params:
            task = self._answering.get(wire.id_key(encode_value(params["requestId"])))
            if task is not None:
                task.cancel()

    # -- answering

    def _asked_of_us(self, method: str, message: Message, request_id: bytes, send: Send) -> None:
        request = Request(
            method, None if message.params is UNSET else decode_value(message.params), request_id
        )
        handler = self._handlers.requests.get(method, self._handlers.other_request)
        if handler is None:
            self._answer_error(request, RpcError(METHOD_NOT_FOUND, method), send)
            return
        try:
            reply = handler(request)
        except Exception as error:  # noqa: BLE001 - the connection's boundary
            self._answer_error(request, error, send)
            return
        if isawaitable(reply):
            self._spawn(request, reply, send)
        else:
            self._answer(request, reply, send)

    def _spawn(self, request: Request, reply: Awaitable[Any], send: Send) -> None:
        if self._tasks is None:
            raise RuntimeError("a Connection answers only while it runs")
        key = wire.id_key(request.id)
        task = self._tasks.create_task(self._answer_later(request, reply, send))
        self._answering[key] = task
        task.add_done_callback(lambda done: self._forget(key, done))

    def _forget(self, key: bytes, task: asyncio.Task[None]) -> None:
        if self._answering.get(key) is task:
            del self._answering[key]

    async def _answer_later(self, request: Request, reply: Awaitable[Any], send: Send) -> None:
        try:
            result = await reply
        except asyncio.CancelledError:
            # Cancelled by the peer or by the end of the connection; the answer is owed all the same.
            self._answer_error(request, RpcError(REQUEST_CANCELLED), send)
        except Exception as error:  # noqa: BLE001 - the connection's boundary
            self._answer_error(request, error, send)
        else:
            self._answer(request, result, send)

    def _answer(self, request: Request, result: Any, send: Send) -> None:
        try:
            body = encode_value(result)
        except (TypeError, ValueError) as error:
            self._answer_error(request, error, send)
            return
        send(wire.result_response(request.id, body))
        self._brake()

    def _answer_error(self, request: Request, error: Exception, send: Send) -> None:
        if not isinstance(error, RpcError):
            _log.error("the handler of %s failed", request.method, exc_info=error)
            error = RpcError(INTERNAL_ERROR, str(error) or type(error).__name__)
        send(wire.error_response(request.id, encode_value(error.body())))
        self._brake()

    def _brake(self) -> None:
        if not self._holds_reading and self._transport.backlog > MAX_BACKLOG:
            self._holds_reading = True
            self._transport.pause_reading()

    def _fail_all(self, error: Exception) -> None:
        if self._over is None:
            self._over = error
        for asked in self._asked.values():
            if not asked.answer.done():
                asked.answer.set_exception(error)
        self._asked.clear()


def _body(params: Any) -> Body | UnsetType:
    return UNSET if params is None else encode_value(params)

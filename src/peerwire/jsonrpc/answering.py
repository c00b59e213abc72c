"""The requests the peer wrote: each goes to its handler, and its answer comes back exactly once."""

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from typing import Any, Final, cast

from msgspec import UNSET, Struct

from peerwire.jsonrpc.batch import Place
from peerwire.jsonrpc.boundary import Boundary
from peerwire.jsonrpc.errors import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    RpcError,
    invalid_params,
)
from peerwire.jsonrpc.handlers import Handlers, Request
from peerwire.jsonrpc.messages import (
    Message,
    error_response,
    id_key,
    quote,
    result_response,
)
from peerwire.jsonrpc.values import decode_value, encode_value

MAX_RUNNING: Final = 10_000
"""Requests of one peer that may wait for their answers at a time; each is a task and its params."""

_log = logging.getLogger(__name__)


class _Owed(Struct):
    request: Request
    reply: Awaitable[Any]
    place: Place
    has_begun: bool = False


class Answering:
    """Calls the handlers; those that wait run as tasks of the group it is given."""

    def __init__(self, handlers: Handlers, tasks: asyncio.TaskGroup) -> None:
        self._handlers = handlers
        self._tasks = tasks
        self._running: dict[asyncio.Task[None], _Owed] = {}
        self._is_ending = False

    def take_request(self, method: str, message: Message, request_id: bytes, place: Place) -> bool:
        """Have it answered; whether a coroutine was started, which has yet to run at all."""
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
        with Boundary() as caught:
            reply = handler(request)
        if hasattr(reply, "__await__"):
            self._start(request, reply, place)
            return True
        self._answer(request, reply, caught.error, place)
        return False

    def take_notification(self, method: str, message: Message) -> None:
        """Tell whoever handles it; nothing is ever answered."""
        handler = self._handlers.notifications.get(method)
        other = self._handlers.other_notification
        with Boundary() as caught:
            params = _params(message)
            if handler is not None:
                handler(params)
            elif other is not None:
                other(method, params)
        if caught.error is not None:
            _log.error("the handler of notification %s failed", method, exc_info=caught.error)

    def cancel(self, message: Message) -> None:
        """The peer takes back the request it names; what names none is ignored (acp-host §1.8)."""
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
        """The connection ends: whoever still works is cancelled, and answers; how many did."""
        self._is_ending = True
        for task in self._running:
            task.cancel()
        return len(self._running)

    def _start(self, request: Request, reply: Awaitable[Any], place: Place) -> None:
        owed = _Owed(request, reply, place)
        task = self._tasks.create_task(self._answer_later(owed))
        self._running[task] = owed
        task.add_done_callback(self._finished)

    async def _answer_later(self, owed: _Owed) -> None:
        owed.has_begun = True
        result: Any = None
        with Boundary() as caught:
            try:
                result = await owed.reply
            except asyncio.CancelledError:
                # The answer is owed all the same, whoever it was that cancelled.
                self._refuse(owed.request, self._reason_of_cancellation(owed.request), owed.place)
                return
        self._answer(owed.request, result, caught.error, owed.place)

    def _finished(self, task: asyncio.Task[None]) -> None:
        owed = self._running.pop(task)
        if not owed.has_begun:
            # Cancelled between its making and its first step, a task never enters its function.
            if asyncio.iscoroutine(owed.reply):
                owed.reply.close()
            self._refuse(owed.request, self._reason_of_cancellation(owed.request), owed.place)

    def _reason_of_cancellation(self, request: Request) -> RpcError:
        if request.cancellation.is_requested:
            return RpcError(REQUEST_CANCELLED)
        reason = "the connection ends" if self._is_ending else "the handler gave up"
        return RpcError(INTERNAL_ERROR, {"reason": reason})

    def _answer(self, request: Request, result: Any, error: Exception | None, place: Place) -> None:
        body = b""
        if error is None:
            with Boundary() as caught:  # the methods of a value's own class may run in there
                body = encode_value(result)
            error = caught.error
        if error is None:
            place.send(result_response(request.id, body))
        else:
            self._refuse(request, error, place)

    def _refuse(self, request: Request, error: Exception, place: Place) -> None:
        if not isinstance(error, RpcError):
            _log.error("the handler of %s failed", request.method, exc_info=error)
            error = RpcError(INTERNAL_ERROR, str(error) or type(error).__name__)
        place.send(error_response(request.id, error_body(error)))


def _params(message: Message) -> Any:
    return None if message.params is UNSET else decode_value(message.params)


def error_body(error: RpcError) -> bytes:
    """The error object as JSON; what has no JSON form in its `data` is shown as text."""
    try:
        return encode_value(error.body())
    except (TypeError, ValueError):
        shown = ascii(error.data)
        return encode_value(RpcError(error.code, shown, message=error.message).body())

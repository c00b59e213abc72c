"""The requests we wrote whose answers are still to come: each is settled once, and forgotten."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from msgspec import UNSET, Struct

from peerwire.errors import ConnectionClosedError
from peerwire.jsonrpc.boundary import Boundary
from peerwire.jsonrpc.errors import INTERNAL_ERROR, RpcError
from peerwire.jsonrpc.messages import NULL_ID, Message, id_key, rpc_error
from peerwire.jsonrpc.values import decode_value

_log = logging.getLogger(__name__)

OnResult: TypeAlias = Callable[[Any], None]

LONGEST_SHOWN: Final = 64
"""Bytes of a stranger's id that a log line shows."""


class Failure(Struct, frozen=True):
    """An answer that is an error; a value and not a raise, so that it may find nobody waiting."""

    error: Exception


class _Open(Struct, frozen=True):
    answer: asyncio.Future[Any]
    on_result: OnResult | None


class OpenRequests:
    """Gives out ids and takes answers; an id is never used twice, so a late answer finds nobody."""

    def __init__(self) -> None:
        self._open: dict[bytes, _Open] = {}
        self._last_id = 0
        self._over: str | None = None

    def add(self, on_result: OnResult | None = None) -> tuple[bytes, asyncio.Future[Any]]:
        """The id of one more request, and the future of its result or `Failure`.

        Raises:
            ConnectionClosedError: no answer can come any more.
        """
        if self._over is not None:
            raise ConnectionClosedError(self._over)
        key = self.skip()
        answer = asyncio.get_running_loop().create_future()
        self._open[key] = _Open(answer, on_result)
        return key, answer

    def skip(self) -> bytes:
        """The id of a request whose answer nobody will look at."""
        self._last_id += 1
        return b"%d" % self._last_id

    def give_up(self, key: bytes) -> bool:
        """Nobody waits for this answer any more; whether it was still to come."""
        return self._open.pop(key, None) is not None

    def settle(self, response: Message) -> None:
        """Give a response to whoever waits for it."""
        key = NULL_ID if response.id is UNSET else id_key(response.id)
        waiting = self._open.pop(key, None)
        if waiting is None:
            self._log_unexpected(key, response)
        elif not waiting.answer.done():
            outcome = _outcome(response, waiting.on_result)
            # `on_result` may itself have cancelled who waits.
            if not waiting.answer.done():
                waiting.answer.set_result(outcome)

    def fail(self, key: bytes, error: Exception) -> None:
        """The answer to this request came and cannot be read."""
        waiting = self._open.pop(id_key(key), None)
        if waiting is not None and not waiting.answer.done():
            waiting.answer.set_result(Failure(error))

    def fail_all(self, reason: str) -> int:
        """No answer will come any more; how many were still to come."""
        count = len(self._open)
        if self._over is None:
            self._over = reason
        for waiting in self._open.values():
            if not waiting.answer.done():
                waiting.answer.set_result(Failure(ConnectionClosedError(self._over)))
        self._open.clear()
        return count

    def _log_unexpected(self, key: bytes, response: Message) -> None:
        shown = key[:LONGEST_SHOWN].decode(errors="replace")
        if key == NULL_ID and response.error is not UNSET:
            _log.warning(
                "the peer could not read something we wrote: %s", rpc_error(response.error)
            )
        elif len(key) < LONGEST_SHOWN and key.isdigit() and int(key) <= self._last_id:
            _log.debug("a late answer to request %s, which was given up", shown)
        else:
            _log.warning("an answer to a request we never made: id %s", shown)


def _outcome(response: Message, on_result: OnResult | None) -> Any:
    result, error = response.result, response.error
    # A peer that writes both members, one of them null, means the other.
    if error is not UNSET and (result is UNSET or bytes(error) != NULL_ID):
        return Failure(rpc_error(error))
    try:
        value = None if result is UNSET else decode_value(result)
    except ValueError as reason:
        data = {"reason": f"the answer cannot be read: {reason}"}
        return Failure(RpcError(INTERNAL_ERROR, data))
    if on_result is not None:
        with Boundary() as caught:
            on_result(value)
        if caught.error is not None:
            return Failure(caught.error)
    return value

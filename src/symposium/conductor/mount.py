"""How a mod reaches its neighbours: requests and notifications of its own, sent on from its place in the chain."""

import asyncio
from typing import Any

from msgspec import UNSET

from peerwire.jsonrpc.values import encode_value
from symposium.conductor.chain import Call, Way
from symposium.conductor.component import Answer, Crossing


class Toward:
    """One direction, as the mod at `position` along it sees it."""

    def __init__(self, way: Way, position: int) -> None:
        self._way = way
        self._position = position

    async def request(self, method: str, params: Any = None) -> Any:
        """Ask, and wait for the result; stopping to wait cancels the request.

        Raises:
            RpcError: the answer is an error, or the chain has ended.
        """
        waiting = _Waiting(asyncio.get_running_loop().create_future())
        call = Call(self._crossing(method, params, is_request=True), waiting, b"", self._way)
        self._way.take(call.crossing, call, after=self._position)
        try:
            answer = await waiting.answer
        except asyncio.CancelledError:
            call.cancel()
            raise
        if answer.error is not None:
            raise answer.error
        return answer.result

    def notify(self, method: str, params: Any = None) -> None:
        """Tell; nothing comes back."""
        self._way.take(self._crossing(method, params, is_request=False), after=self._position)

    def _crossing(self, method: str, params: Any, *, is_request: bool) -> Crossing:
        return Crossing(
            method, UNSET if params is None else encode_value(params), is_request=is_request
        )


class _Waiting:
    def __init__(self, answer: asyncio.Future[Answer]) -> None:
        self.answer = answer

    def answered(self, call: Call, answer: Answer) -> None:
        del call
        if not self.answer.done():
            self.answer.set_result(answer)

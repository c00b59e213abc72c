"""How a mod reaches its neighbours: messages of its own, sent on from its place in the chain."""

import asyncio
from typing import Any

from msgspec import UNSET

from peerwire.jsonrpc.values import encode_value
from symposium.conductor.call import Call
from symposium.conductor.chain import Way
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
        crossing = self._crossing(method, params, is_request=True)
        call = Call(crossing, waiting, b"", self._way, place=self._position)
        call.is_urgent = self._holds_something()
        # What the neighbours send is read on meanwhile, however much of it waits for this mod.
        answers = self._way.back.lanes
        answers.expect(1)
        try:
            self._way.take(crossing, call, after=self._position)
            answer = await waiting.answer
        except asyncio.CancelledError:
            call.cancel()
            raise
        finally:
            answers.expect(-1)
        if answer.error is not None:
            raise answer.error
        return answer.result

    def notify(self, method: str, params: Any = None) -> None:
        """Tell; nothing comes back."""
        self._way.take(self._crossing(method, params, is_request=False), after=self._position)

    def _holds_something(self) -> bool:
        # Two mods that hold a message and ask each past the other would wait for ever.
        back = self._way.back
        mirrored = back.length - 1 - self._position
        return self._way.lanes.holds(self._position) or back.lanes.holds(mirrored)

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

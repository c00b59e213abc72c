"""A request of the host itself to a chain."""

import asyncio

from symposium.chain.calls import Call
from symposium.chain.messages import Answer, Crossing
from symposium.chain.routing import Way


class OwnRequest:
    """One request from run mode, and its response."""

    def __init__(self, crossing: Crossing) -> None:
        self._crossing = crossing
        self._answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._call: Call | None = None

    async def answer(self, way: Way) -> Answer:
        """Send it along a way, and wait; stopping to wait cancels it."""
        call = self._call = Call(self._crossing, self, b"", way)
        way.take(self._crossing, call)
        try:
            return await self._answer
        except asyncio.CancelledError:
            call.cancel()
            raise

    def give_up(self, answer: Answer) -> None:
        """Settle the request: the component will not answer."""
        if self._call is not None:
            self._call.settle(answer)

    def answered(self, call: Call, answer: Answer) -> None:
        """Take the answer."""
        del call
        if not self._answer.done():
            self._answer.set_result(answer)

"""Forward the progress of long requests to the client of a tool call."""

import asyncio
from contextlib import suppress
from typing import Final, TypeVar

from symposium.bus.errors import BusError
from symposium.bus.messages.broker import Progress
from symposium.bus.protocol import BusRequest
from symposium.mcp_server.tool import News, ToolInvocation

EVERY: Final = 10.0
"""Seconds between two progress messages, even without news."""

_Answer = TypeVar("_Answer")


class ProgressRelay:
    """The latest progress message; each one replaces the last."""

    def __init__(self, message: str) -> None:
        self._message = message
        self._changed = asyncio.Event()

    def take(self, progress: Progress) -> None:
        """Replace the message with progress from the bus."""
        self._message = progress.message
        self._changed.set()

    async def tell_on(self, news: News, *, every: float) -> None:
        """Send the message now, at each change, and every `every` seconds, until canceled."""
        count = 0.0
        while True:
            self._changed.clear()
            count += 1
            await news(count, None, self._message)
            with suppress(TimeoutError):
                async with asyncio.timeout(every):
                    await self._changed.wait()


async def request_with_progress(
    request: BusRequest[_Answer],
    call: ToolInvocation,
    *,
    first: str,
    limit: float | None = None,
    every: float = EVERY,
) -> _Answer:
    """Send a request over the bus, and forward its progress to the client.

    Args:
        request: the request to send.
        call: the tool call whose client gets the progress.
        first: the first progress message; must be true before anything was sent.
        limit: seconds to wait for the answer, if shorter than the budget of the request's type.
        every: seconds after which the message is repeated.

    Raises:
        BusError: there is no answer, or a refusal.
    """
    latest = ProgressRelay(first)
    async with asyncio.TaskGroup() as tasks:
        telling = tasks.create_task(latest.tell_on(call.tell, every=every))
        try:
            outcome = await _outcome(request, call, latest, limit)
        finally:
            telling.cancel()
    if isinstance(outcome, BusError):
        raise outcome
    return outcome


async def _outcome(
    request: BusRequest[_Answer], call: ToolInvocation, latest: ProgressRelay, limit: float | None
) -> _Answer | BusError:
    """Return the answer or the error, which a task group would wrap."""
    try:
        bus = call.workplace.bus
        return await bus.request(request, on_progress=latest.take, timeout=limit)
    except BusError as error:
        return error

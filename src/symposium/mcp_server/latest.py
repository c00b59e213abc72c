"""Wait for a slow answer and report progress to the client."""

import asyncio
from contextlib import suppress
from typing import Final, TypeVar

from symposium.bus.errors import BusError
from symposium.bus.messages.broker import Progress
from symposium.bus.protocol import Request
from symposium.mcp_server.tool import Call, News

EVERY: Final = 10.0
"""Seconds between two progress messages, even without news."""

_Answer = TypeVar("_Answer")


class Latest:
    """One line of news that is replaced by the next."""

    def __init__(self, message: str) -> None:
        self._message = message
        self._changed = asyncio.Event()

    def take(self, progress: Progress) -> None:
        """Replace it by progress from the bus."""
        self._message = progress.message
        self._changed.set()

    async def tell_on(self, news: News, *, every: float) -> None:
        """Send it now, at each change, and every so many seconds, until cancelled."""
        count = 0.0
        while True:
            self._changed.clear()
            count += 1
            await news(count, None, self._message)
            with suppress(TimeoutError):
                async with asyncio.timeout(every):
                    await self._changed.wait()


async def ask_telling(
    request: Request[_Answer],
    call: Call,
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
    latest = Latest(first)
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
    request: Request[_Answer], call: Call, latest: Latest, limit: float | None
) -> _Answer | BusError:
    """The answer; an error is handed over, since a task group would wrap it."""
    try:
        bus = call.workplace.bus
        return await bus.request(request, on_progress=latest.take, patience=limit)
    except BusError as error:
        return error

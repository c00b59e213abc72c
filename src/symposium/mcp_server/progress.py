"""Reports to the user, and progress of tool calls."""

import asyncio
from contextlib import suppress
from typing import Final, Literal, TypeAlias, TypeVar

from msgspec import Struct

from symposium.bus.envelope import GONE, NO_HANDLER, TIMEOUT
from symposium.bus.errors import BusError, BusRefusedError
from symposium.bus.messages.agents import Recorded
from symposium.bus.messages.broker import Progress
from symposium.bus.protocol import BusRequest
from symposium.errors import SymposiumError
from symposium.mcp_server.tool import News, ToolAnswer, ToolInvocation

ReportStatus: TypeAlias = Literal["recorded", "queued"]

REPORT_TIMEOUT = 2.0
"""Seconds to wait for the daemon before a report is queued on disk."""


class DeliveryReport(Struct, frozen=True):
    """Status of a report.

    Attributes:
        status: `recorded` in the taskspace, or `queued` on disk until the daemon runs.
        watchers: number of views that show it now; 0 means that the user has not seen it yet.
    """

    status: ReportStatus
    watchers: int = 0


class ReportLostError(SymposiumError):
    """A report could be neither sent nor queued."""


async def report(message: BusRequest[Recorded], call: ToolInvocation) -> ToolAnswer:
    """Send a report, or queue it on disk.

    Raises:
        ReportLostError: neither is possible.
        BusRefusedError: the daemon rejected it.
    """
    try:
        recorded = await call.workplace.bus.request(message, timeout=REPORT_TIMEOUT)
    except BusRefusedError as error:
        if error.code not in (NO_HANDLER, TIMEOUT, GONE):
            raise
        return _queued(message, call, error)
    except BusError as error:
        return _queued(message, call, error)
    return _recorded(recorded.watchers)


def _recorded(watchers: int) -> ToolAnswer:
    seen = f"{watchers} view(s) show it now" if watchers else "no view shows it now"
    return ToolAnswer(f"Recorded; {seen}.", DeliveryReport("recorded", watchers))


def _queued(message: BusRequest[Recorded], call: ToolInvocation, reason: BusError) -> ToolAnswer:
    try:
        call.workplace.outbox.keep(message)
    except OSError as error:
        raise ReportLostError(
            f"the report was not delivered ({reason.message}) and could not be queued: {error}",
            "report it to the user in the conversation",
        ) from error
    return ToolAnswer(
        f"Queued: not delivered yet ({reason.message}). The report is on disk and is delivered "
        "when the daemon runs. If it is urgent, ask the user in the conversation.",
        DeliveryReport("queued"),
    )


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

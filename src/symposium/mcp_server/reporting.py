"""Says something to people through the daemon, and says what became of it (§7 row 10)."""

from typing import Literal, TypeAlias

from msgspec import Struct

from symposium.bus.envelope import GONE, NO_HANDLER, TIMEOUT
from symposium.bus.errors import BusError, BusRefusedError
from symposium.bus.messages.agents import Recorded
from symposium.bus.protocol import Request
from symposium.errors import SymposiumError
from symposium.mcp_server.tool import Answer, Call

Fate: TypeAlias = Literal["recorded", "queued"]

PATIENCE = 2.0
"""Seconds for the daemon before a report is put down for later."""


class Report(Struct, frozen=True):
    """What became of a report.

    Attributes:
        status: `recorded` with the taskspace, or `queued` on disk until the daemon is there.
        watchers: views that show it now; 0 means that nobody has seen it yet.
    """

    status: Fate
    watchers: int = 0


class ReportLostError(SymposiumError):
    """A report could neither be said nor put down."""


async def report(message: Request[Recorded], call: Call) -> Answer:
    """Say it, or put it down for later.

    Raises:
        ReportLostError: neither is possible.
        BusRefusedError: the daemon does not want it.
    """
    try:
        recorded = await call.workplace.bus.request(message, patience=PATIENCE)
    except BusRefusedError as error:
        if error.code not in (NO_HANDLER, TIMEOUT, GONE):
            raise
        return _queued(message, call, error)
    except BusError as error:
        return _queued(message, call, error)
    return _told(recorded.watchers)


def _told(watchers: int) -> Answer:
    seen = f"{watchers} view(s) show it now" if watchers else "nobody is watching right now"
    return Answer(f"Recorded; {seen}.", Report("recorded", watchers))


def _queued(message: Request[Recorded], call: Call, reason: BusError) -> Answer:
    try:
        call.workplace.outbox.keep(message)
    except OSError as error:
        raise ReportLostError(
            f"nobody could take it ({reason.message}), and it could not be put down: {error}",
            "tell the user in the conversation",
        ) from error
    return Answer(
        f"Queued: nobody could take it ({reason.message}). It is on disk, and is delivered when "
        "the daemon is there. If it is urgent, tell the user in the conversation.",
        Report("queued"),
    )

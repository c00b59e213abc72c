"""Deliver the reports of an agent to the daemon, or queue them on disk."""

from typing import Literal, TypeAlias

from msgspec import Struct

from symposium.bus.error_codes import GONE, NO_HANDLER, TIMEOUT
from symposium.bus.errors import BusError, BusRefusedError
from symposium.bus.messages.agents import Recorded
from symposium.bus.protocol import BusRequest
from symposium.errors import SymposiumError
from symposium.mcp_server.tool import ToolAnswer, ToolInvocation

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

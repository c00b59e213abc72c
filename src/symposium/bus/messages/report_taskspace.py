"""`report_taskspace`: what would be lost if a taskspace were deleted."""

from typing import ClassVar

from symposium.bus.roles import PEOPLE
from symposium.bus.vocabulary import About, Reply, Request, Target


class SafetyReport(Reply, frozen=True):
    """What was found, in lines for people; `is_safe` only where everything is known."""

    is_safe: bool
    lines: tuple[str, ...]
    unknowns: tuple[str, ...] = ()


class ReportTaskspace(Request[SafetyReport], frozen=True, kw_only=True):
    """Look at what deleting a taskspace would lose; nothing is changed."""

    about: ClassVar = About(
        "report_taskspace",
        sent_by=PEOPLE,
        target=Target.ENGINE,
        budget=120.0,
        is_idempotent=True,
        version=2,
        source="bus §3.7",
    )
    taskspace_uuid: str

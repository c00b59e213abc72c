"""`wait_for_taskspaces`: wait until those that one has spawned have ended."""

from typing import ClassVar

from msgspec import Struct

from symposium.bus.roles import AGENTS
from symposium.bus.vocabulary import About, Reply, Request, Target


class TaskResult(Struct, frozen=True):
    """What a taskspace has left behind.

    Attributes:
        standing: `finished`, or `archived` where somebody has deleted it.
        result: what its agent says it has achieved; None where it has said nothing.
        evidence: what proves it.
    """

    taskspace_uuid: str
    name: str
    branch: str
    standing: str
    result: str | None = None
    evidence: str = ""


class Ended(Reply, frozen=True):
    """All that were waited for, as asked."""

    results: tuple[TaskResult, ...]


class WaitForTaskspaces(Request[Ended], frozen=True, kw_only=True):
    """Answered when every one of them has ended, however long that takes."""

    about: ClassVar = About(
        "wait_for_taskspaces",
        sent_by=AGENTS,
        target=Target.ENGINE,
        budget=86400.0,
        is_idempotent=True,
        version=2,
        source="users B-13",
    )
    project_path: str
    taskspace_uuid: str
    children: tuple[str, ...]

"""`collect_taskspaces`: what can be cleared away."""

from typing import ClassVar

from symposium.bus.roles import PEOPLE
from symposium.bus.vocabulary import About, Reply, Request, Target


class Collected(Reply, frozen=True):
    """What was cleared away, or would be, in lines for people."""

    lines: tuple[str, ...]
    orphans: tuple[str, ...] = ()


class CollectTaskspaces(Request[Collected], frozen=True, kw_only=True):
    """Clear away archives and snapshots that are too old, and name worktrees that nobody has.

    Attributes:
        is_applied: do it; else only say what would be done.
        project: also look for worktrees of this project that are no taskspaces.
    """

    about: ClassVar = About(
        "collect_taskspaces",
        sent_by=PEOPLE,
        target=Target.ENGINE,
        budget=300.0,
        version=2,
        source="issue part 3 §6",
    )
    is_applied: bool = False
    project: str | None = None

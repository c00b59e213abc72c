"""`find_overlaps`: which taskspaces of a project would conflict."""

from typing import ClassVar

from msgspec import Struct

from symposium.bus.roles import AGENTS, PEOPLE
from symposium.bus.vocabulary import About, Reply, Request, Target


class ConflictView(Struct, frozen=True):
    """One file that two have changed in ways that do not fit.

    Attributes:
        kind: `content`, or what else stands against a merge: `deleted`, `added`, `binary`.
        first: the lines in question as the first one counts them: from, to.
        second: as the second one does.
    """

    path: str
    kind: str
    first: tuple[tuple[int, int], ...] = ()
    second: tuple[tuple[int, int], ...] = ()


class OverlapView(Struct, frozen=True):
    """Two taskspaces, or one and its base, and where they would conflict.

    Attributes:
        first: a taskspace's id.
        second: another's, or `base`.
        lines: for people, as the first one counts lines.
        conflicts: the same for programs, each file once.
        problem: why the two could not be compared; empty when they could.
    """

    first: str
    second: str
    lines: tuple[str, ...]
    conflicts: tuple[ConflictView, ...] = ()
    problem: str = ""


class Overlaps(Reply, frozen=True):
    """All that would conflict now."""

    overlaps: tuple[OverlapView, ...]


class FindOverlaps(Request[Overlaps], frozen=True, kw_only=True):
    """Merge all live taskspaces of a project in thought; nothing is changed.

    Attributes:
        project: its absolute path.
    """

    about: ClassVar = About(
        "find_overlaps",
        sent_by=PEOPLE | AGENTS,
        target=Target.ENGINE,
        budget=120.0,
        is_idempotent=True,
        version=2,
        source="users B-10",
    )
    project: str

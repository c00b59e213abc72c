"""`find_overlaps`: which taskspaces of a project would conflict."""

from typing import ClassVar

from msgspec import Struct

from symposium.bus.roles import AGENTS, PEOPLE
from symposium.bus.vocabulary import About, Reply, Request, Target


class OverlapView(Struct, frozen=True):
    """Two taskspaces, or one and its base, and where they would conflict, in lines for people."""

    first: str
    second: str
    lines: tuple[str, ...]


class Overlaps(Reply, frozen=True):
    """All that would conflict now."""

    overlaps: tuple[OverlapView, ...]


class FindOverlaps(Request[Overlaps], frozen=True, kw_only=True):
    """Merge all live taskspaces of a project in thought; nothing is changed."""

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

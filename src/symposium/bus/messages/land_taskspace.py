"""`land_taskspace`: bring the work of a taskspace into its base."""

from typing import ClassVar

from symposium.bus.roles import PEOPLE
from symposium.bus.vocabulary import About, Reply, Request, Target


class Landing(Reply, frozen=True):
    """`landed`, `conflict` or `checks_failed`, for people in lines; the others changed nothing."""

    outcome: str
    lines: tuple[str, ...]
    commit: str | None = None


class LandTaskspace(Request[Landing], frozen=True, kw_only=True):
    """Fetch, try, rebase or merge, check, fast-forward; what fails leaves the tree untouched.

    Attributes:
        join: `rebase` or `merge`.
        is_pushed: push the base afterwards; never by force.
    """

    about: ClassVar = About(
        "land_taskspace",
        sent_by=PEOPLE,
        target=Target.ENGINE,
        budget=1800.0,
        version=2,
        source="users B-11",
    )
    taskspace_uuid: str
    join: str = "rebase"
    is_pushed: bool = False

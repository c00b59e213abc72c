"""`land_taskspace`: bring the work of a taskspace into its base."""

from typing import ClassVar

from symposium.bus.roles import PEOPLE
from symposium.bus.vocabulary import About, Reply, Request, Target


class Landing(Reply, frozen=True):
    """The outcome, for people in lines.

    Attributes:
        outcome: `landed`, `conflict`, `checks_failed`, or `resolving`: the task's agent resolves
            the conflicts. All but `landed` leave the base unchanged.
        commit: the one that has landed.
    """

    outcome: str
    lines: tuple[str, ...]
    commit: str | None = None


class LandTaskspace(Request[Landing], frozen=True, kw_only=True):
    """Fetch, try, rebase or merge, check, fast-forward; what fails leaves the tree untouched.

    Attributes:
        join: `rebase` or `merge`.
        is_pushed: push the base afterwards; never by force.
        resolve_conflicts: let the task's agent resolve conflicts. The result waits in the inbox
            as an item of kind `landing`, and lands once the user approves it.
        environment: as in `create_taskspace`, for an agent that is started again.
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
    resolve_conflicts: bool = False
    environment: str | None = None

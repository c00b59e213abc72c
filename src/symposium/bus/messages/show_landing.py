"""`show_landing`: how far a landing is whose conflicts an agent resolves."""

from typing import ClassVar

from symposium.bus.roles import PEOPLE
from symposium.bus.vocabulary import About, Reply, Request, Target


class LandingShown(Reply, frozen=True):
    """The stage of the landing, and the commit that has landed last.

    Attributes:
        stage: `asked` or `working` (the agent resolves), `ready` or `failed` (an item in the inbox
            waits for the user); empty where no landing waits.
        landed: the commit of the task that has landed last; empty for none.
        landed_at: when it landed, ISO 8601, UTC.
    """

    stage: str = ""
    landed: str = ""
    landed_at: str = ""


class ShowLanding(Request[LandingShown], frozen=True, kw_only=True):
    """Show how far the landing of a taskspace is, after `land_taskspace` answered `resolving`."""

    about: ClassVar = About(
        "show_landing",
        sent_by=PEOPLE,
        target=Target.ENGINE,
        budget=30.0,
        is_idempotent=True,
        version=2,
        source="issue part 4, 7",
    )
    taskspace_uuid: str

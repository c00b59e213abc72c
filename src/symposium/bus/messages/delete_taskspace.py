"""`delete_taskspace`: ask for a taskspace to be deleted."""

from typing import ClassVar

from symposium.bus.roles import AGENTS, PEOPLE
from symposium.bus.vocabulary import About, Reply, Request, Target


class Decided(Reply, frozen=True):
    """What was decided: `deleted`, `archived`, `cancelled`, `expired` or `pending`."""

    outcome: str = "deleted"


class DeleteTaskspace(Request[Decided], frozen=True, kw_only=True):
    """Ask for a taskspace to be deleted; answered when a person has decided, with news meanwhile.

    A refusal is an error with the text "Taskspace deletion was cancelled by user".
    """

    about: ClassVar = About(
        "delete_taskspace",
        sent_by=AGENTS | PEOPLE,
        target=Target.ENGINE,
        budget=86400.0,
        source="bus §3.7; §1.11, row 5",
    )
    project_path: str
    taskspace_uuid: str

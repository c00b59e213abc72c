"""`retry_taskspace`: try the set-up of a taskspace again, or its agent."""

from typing import ClassVar

from symposium.bus.messages.create_taskspace import TaskMade
from symposium.bus.roles import PEOPLE
from symposium.bus.vocabulary import About, Request, Target


class RetryTaskspace(Request[TaskMade], frozen=True, kw_only=True):
    """Try the set-up again; an agent that has ended or was lost is started again.

    Attributes:
        agent: gives it this one, as `create_taskspace` names it; the one it has if not given.
        environment: as in `create_taskspace`.
        trusted: the digest of what the set-up files asked for when a person said yes to it, as
            `show_taskspace` tells it; empty where nobody has.
    """

    about: ClassVar = About(
        "retry_taskspace",
        sent_by=PEOPLE,
        target=Target.ENGINE,
        budget=900.0,
        version=2,
        source="users B-3, B-7",
    )
    taskspace_uuid: str
    trusted: str = ""
    agent: str | None = None
    environment: str | None = None

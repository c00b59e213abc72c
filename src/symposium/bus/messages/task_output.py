"""`task_output`: work on a taskspace makes progress."""

from typing import ClassVar

from symposium.bus.roles import Role
from symposium.bus.vocabulary import About, Announcement, Target


class TaskOutput(Announcement, frozen=True, kw_only=True):
    """Announce a stage that was reached, or a line that a set-up command or a check wrote."""

    about: ClassVar = About(
        "task_output",
        sent_by=frozenset({Role.DAEMON}),
        target=Target.EVERYBODY,
        version=2,
        source="spec app 3.2, G1",
    )
    taskspace_uuid: str
    stage: str | None = None
    line: str | None = None

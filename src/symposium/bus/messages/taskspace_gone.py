"""`taskspace_gone`: a taskspace was deleted."""

from typing import ClassVar

from symposium.bus.roles import Role
from symposium.bus.vocabulary import About, Announcement, Target


class TaskspaceGone(Announcement, frozen=True, kw_only=True):
    """Announce that a taskspace was deleted; an archived one can be restored."""

    about: ClassVar = About(
        "taskspace_gone",
        sent_by=frozenset({Role.DAEMON}),
        target=Target.EVERYBODY,
        version=2,
        source="spec app 3.2, G1",
    )
    taskspace_uuid: str
    is_archived: bool

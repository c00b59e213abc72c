"""`task_logged`: a line was added to a log."""

from typing import ClassVar

from symposium.bus.roles import Role
from symposium.bus.task_shapes import TaskLog
from symposium.bus.vocabulary import About, Announcement, Target


class TaskLogged(Announcement, frozen=True, kw_only=True):
    """Announce a new line in the log of a taskspace."""

    about: ClassVar = About(
        "task_logged",
        sent_by=frozenset({Role.DAEMON}),
        target=Target.EVERYBODY,
        version=2,
        source="spec app 3.2, G1",
    )
    taskspace_uuid: str
    entry: TaskLog

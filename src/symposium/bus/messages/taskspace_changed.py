"""`taskspace_changed`: a taskspace is new, or its view has changed."""

from typing import ClassVar

from symposium.bus.roles import Role
from symposium.bus.task_shapes import TaskView
from symposium.bus.vocabulary import About, Announcement, Target


class TaskspaceChanged(Announcement, frozen=True, kw_only=True):
    """Announce the view of a taskspace: at most four times a second each, the latest one.

    Attributes:
        cause: what happened last, as `logged`, `asked`, `turn ended`.
    """

    about: ClassVar = About(
        "taskspace_changed",
        sent_by=frozenset({Role.DAEMON}),
        target=Target.EVERYBODY,
        version=2,
        source="spec app 3.2, G1",
    )
    taskspace: TaskView
    cause: str

"""`restore_taskspace`: bring a deleted taskspace back."""

from typing import ClassVar

from symposium.bus.roles import PEOPLE
from symposium.bus.task_shapes import TaskView
from symposium.bus.vocabulary import About, Reply, Request, Target


class Restored(Reply, frozen=True):
    """The taskspace, and what could not be brought back as it was, in lines for people."""

    taskspace: TaskView
    lines: tuple[str, ...]


class RestoreTaskspace(Request[Restored], frozen=True, kw_only=True):
    """Bring a taskspace back that was deleted: tree, index, branch and log."""

    about: ClassVar = About(
        "restore_taskspace",
        sent_by=PEOPLE,
        target=Target.ENGINE,
        budget=300.0,
        version=2,
        source="users B-8",
    )
    taskspace_uuid: str

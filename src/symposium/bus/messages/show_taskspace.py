"""`show_taskspace`: all that is known of one taskspace."""

from typing import ClassVar

from symposium.bus.roles import PEOPLE
from symposium.bus.task_shapes import SnapshotView, TaskLog, TaskView
from symposium.bus.vocabulary import About, Reply, Request, Target


class TaskShown(Reply, frozen=True):
    """One taskspace, its progress and its snapshots, the oldest first.

    Attributes:
        recipe: what its set-up files ask for, each line with its file, and `digest` of all of it.
        guesses: what its lock files suggest, where no file asks for anything; never run unasked.
    """

    taskspace: TaskView
    log: tuple[TaskLog, ...]
    snapshots: tuple[SnapshotView, ...]
    recipe: tuple[str, ...] = ()
    guesses: tuple[str, ...] = ()
    digest: str = ""


class ShowTaskspace(Request[TaskShown], frozen=True, kw_only=True):
    """Show a taskspace; that a person has seen its questions is not assumed."""

    about: ClassVar = About(
        "show_taskspace",
        sent_by=PEOPLE,
        target=Target.ENGINE,
        budget=30.0,
        is_idempotent=True,
        version=2,
        source="issue part 3 §6",
    )
    taskspace_uuid: str
    log: int = 50

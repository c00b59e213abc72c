"""`undo_taskspace`: bring the tree of a taskspace back to an earlier state."""

from typing import ClassVar

from symposium.bus.roles import PEOPLE
from symposium.bus.task_shapes import SnapshotView
from symposium.bus.vocabulary import About, Reply, Request, Target


class Undone(Reply, frozen=True):
    """Which state it is now, and which it was: `restore` of that one takes the undo back."""

    now: SnapshotView
    before: SnapshotView
    lines: tuple[str, ...]


class UndoTaskspace(Request[Undone], frozen=True, kw_only=True):
    """Bring the tree back to the state before this one, or to a snapshot."""

    about: ClassVar = About(
        "undo_taskspace",
        sent_by=PEOPLE,
        target=Target.ENGINE,
        budget=300.0,
        version=2,
        source="issue part 3 §3",
    )
    taskspace_uuid: str
    snapshot: str | None = None

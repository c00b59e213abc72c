"""`snapshot_taken`: a state of a worktree was saved."""

from typing import ClassVar

from symposium.bus.roles import Role
from symposium.bus.task_shapes import SnapshotView
from symposium.bus.vocabulary import About, Announcement, Target


class SnapshotTaken(Announcement, frozen=True, kw_only=True):
    """Announce a new snapshot of a taskspace."""

    about: ClassVar = About(
        "snapshot_taken",
        sent_by=frozenset({Role.DAEMON}),
        target=Target.EVERYBODY,
        version=2,
        source="spec app 3.2, G1",
    )
    taskspace_uuid: str
    snapshot: SnapshotView

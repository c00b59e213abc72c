"""`snapshot_taskspace`: keep a state of a taskspace."""

from typing import ClassVar

from symposium.bus.roles import AGENTS, PEOPLE
from symposium.bus.task_shapes import SnapshotView
from symposium.bus.vocabulary import About, Reply, Request, Target


class Snapped(Reply, frozen=True):
    """The state that is kept: a new one, or the last where nothing has changed since."""

    snapshot: SnapshotView


class SnapshotTaskspace(Request[Snapped], frozen=True, kw_only=True):
    """Keep tree, index and untracked files of a taskspace as they are now.

    Attributes:
        called_at: seconds since 1970 at which a tool call was heard of that is kept late, since
            its agent did not wait; null for any other state.
    """

    about: ClassVar = About(
        "snapshot_taskspace",
        sent_by=PEOPLE | AGENTS,
        target=Target.ENGINE,
        budget=120.0,
        is_idempotent=True,
        version=2,
        source="issue part 3 §3",
    )
    taskspace_uuid: str
    reason: str = ""
    called_at: float | None = None

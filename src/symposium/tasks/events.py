"""Events of the engine: the daemon passes them to clients and agents."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from symposium.tasks.model import LogEntry, Taskspace
from symposium.tasks.snapshots.snapshot_values import Snapshot


@dataclass(frozen=True, slots=True)
class Changed:
    """A task is new or has changed."""

    taskspace: Taskspace


@dataclass(frozen=True, slots=True)
class LineEvent:
    """An entry was added to a log and saved."""

    entry: LogEntry


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The user has seen a question of a taskspace."""

    taskspace: str
    number: int
    at: str


@dataclass(frozen=True, slots=True)
class Removing:
    """A task is about to be deleted: its agent still runs, and all its files exist."""

    taskspace: Taskspace


@dataclass(frozen=True, slots=True)
class Removed:
    """A task was deleted; `is_archived` says whether it can be restored."""

    taskspace: str
    is_archived: bool


@dataclass(frozen=True, slots=True)
class Passed:
    """A stage of a longer operation is done."""

    taskspace: str
    stage: str


@dataclass(frozen=True, slots=True)
class Said:
    """A line of output of a setup command or check."""

    taskspace: str
    line: str


@dataclass(frozen=True, slots=True)
class SnapshotEvent:
    """A new snapshot was taken."""

    taskspace: str
    snapshot: Snapshot


Event: TypeAlias = (
    Changed | LineEvent | Acknowledged | Removing | Removed | Passed | Said | SnapshotEvent
)
Listener: TypeAlias = Callable[[Event], None]

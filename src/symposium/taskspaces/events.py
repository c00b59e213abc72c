"""What the engine tells whoever listens: the daemon, which passes it to views and agents."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from symposium.taskspaces.model import LogEntry, Taskspace
from symposium.taskspaces.snapshots.state import Snapshot


@dataclass(frozen=True, slots=True)
class Changed:
    """A taskspace is new, or something about it is."""

    taskspace: Taskspace


@dataclass(frozen=True, slots=True)
class Logged:
    """An entry was added to a log; it lasts by now."""

    entry: LogEntry


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The user has seen a question of a taskspace."""

    taskspace: str
    number: int
    at: str


@dataclass(frozen=True, slots=True)
class Removing:
    """A taskspace is about to be taken away: its agent still runs, and all its files are there."""

    taskspace: Taskspace


@dataclass(frozen=True, slots=True)
class Removed:
    """A taskspace is gone; `is_archived` says whether it can be brought back."""

    taskspace: str
    is_archived: bool


@dataclass(frozen=True, slots=True)
class Passed:
    """A stage of something that takes a while is done."""

    taskspace: str
    stage: str


@dataclass(frozen=True, slots=True)
class Said:
    """A line that a command of the set-up or of a check has written."""

    taskspace: str
    line: str


@dataclass(frozen=True, slots=True)
class Snapped:
    """A new snapshot was taken."""

    taskspace: str
    snapshot: Snapshot


Event: TypeAlias = Changed | Logged | Acknowledged | Removing | Removed | Passed | Said | Snapped
Listener: TypeAlias = Callable[[Event], None]

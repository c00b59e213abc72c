"""What is being done to a taskspace and how far it has come, so that a restart can end it."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import msgspec

STAGES: Final = (
    *("create.recorded", "create.metadata", "create.fetched", "create.worktree"),
    *("create.included", "create.setup", "create.agent", "create.ready"),
    *("delete.recorded", "delete.agent", "delete.snapshot", "delete.archive", "delete.anchored"),
    *("delete.teardown", "delete.worktree", "delete.branch", "delete.metadata", "delete.done"),
    *("undo.recorded", "undo.worktree", "undo.restored", "undo.metadata", "undo.done"),
    *("land.recorded", "land.fetched", "land.dry-merge", "land.replayed", "land.moved"),
    *("land.joined", "land.checked", "land.forwarded", "land.done"),
    *("log.recorded", "log.mirrored", "signal.recorded", "signal.mirrored"),
    *("update.recorded", "update.mirrored"),
)
"""After each of these the process may be killed; a test does so after every one."""

StageHook = Callable[[str], None]
"""Told each stage right after it."""


class Kind(StrEnum):
    """What is being done."""

    CREATE = "create"
    DELETE = "delete"
    UNDO = "undo"
    LAND = "land"


@dataclass(frozen=True, slots=True)
class Operation:
    """One that was begun and not ended.

    Attributes:
        stage: the last one that is done.
        detail: what its next stages need.
    """

    taskspace: str
    kind: Kind
    stage: str
    detail: dict[str, Any] = field(default_factory=dict[str, Any])

    def is_past(self, stage: str) -> bool:
        """Whether that stage is done."""
        return STAGES.index(self.stage) >= STAGES.index(stage)


def note(connection: sqlite3.Connection, operation: Operation) -> None:
    """Write how far one has come."""
    connection.execute(
        "INSERT OR REPLACE INTO operation (taskspace, kind, stage, detail) VALUES (?, ?, ?, ?)",
        (
            operation.taskspace,
            operation.kind,
            operation.stage,
            msgspec.json.encode(operation.detail),
        ),
    )


def end(connection: sqlite3.Connection, taskspace: str) -> None:
    """Write that nothing is being done any more."""
    connection.execute("DELETE FROM operation WHERE taskspace = ?", (taskspace,))


def is_unfinished(connection: sqlite3.Connection, taskspace: str) -> bool:
    """Whether something is being done to this taskspace."""
    return any(each.taskspace == taskspace for each in unfinished(connection))


def unfinished(connection: sqlite3.Connection) -> list[Operation]:
    """All that were begun and not ended."""
    rows = connection.execute("SELECT taskspace, kind, stage, detail FROM operation")
    return [
        Operation(taskspace, Kind(kind), stage, msgspec.json.decode(detail))
        for taskspace, kind, stage, detail in rows
    ]

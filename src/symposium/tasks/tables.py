"""Tables of the task store: tasks, logs, operations, port blocks."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

import msgspec

from symposium.tasks.model import Category, LogEntry, Ports, Taskspace, TaskspaceError

_COLUMNS: Final = "number, id, taskspace, at, category, message, evidence, acknowledged_at"


@dataclass(frozen=True, slots=True)
class LogSummary:
    """The end of a log: its last entry, if any, and the number of open questions."""

    last: LogEntry | None
    waiting: int


def append(
    connection: sqlite3.Connection, entry: LogEntry, topic: str | None = None
) -> LogEntry | None:
    """Add an entry; returns it with its number.

    An entry with a known id is not added again. None for a topic that its log already has.
    """
    added = connection.execute(
        "INSERT OR IGNORE INTO log (id, taskspace, at, category, message, evidence,"
        " acknowledged_at, topic) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            entry.id,
            entry.taskspace,
            entry.at,
            entry.category,
            entry.message,
            entry.evidence,
            entry.acknowledged_at,
            topic,
        ),
    )
    if added.rowcount:
        return replace(entry, number=added.lastrowid or 0)
    row = connection.execute(f"SELECT {_COLUMNS} FROM log WHERE id = ?", (entry.id,)).fetchone()  # noqa: S608 - only constants are inserted
    return None if row is None else _entry(row)


def topics(connection: sqlite3.Connection, beginning: str) -> set[tuple[str, str]]:
    """The taskspace and the topic of every warning whose topic begins like this."""
    rows = connection.execute(
        "SELECT taskspace, topic FROM log WHERE topic IS NOT NULL AND substr(topic, 1, ?) = ?",
        (len(beginning), beginning),
    )
    return {(taskspace, topic) for taskspace, topic in rows}


def close_topic(connection: sqlite3.Connection, taskspace: str, topic: str) -> None:
    """Allow a warning of a topic again."""
    words = "UPDATE log SET topic = NULL WHERE taskspace = ? AND topic = ?"
    connection.execute(words, (taskspace, topic))


def entries(
    connection: sqlite3.Connection, taskspace: str, *, after: int = 0, most: int = 1000
) -> list[LogEntry]:
    """Log entries of a task after a number, oldest first."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM log WHERE taskspace = ? AND number > ? ORDER BY number LIMIT ?",  # noqa: S608 - only constants are inserted
        (taskspace, after, most),
    )
    return [_entry(row) for row in rows]


def latest(connection: sqlite3.Connection, taskspace: str, most: int) -> list[LogEntry]:
    """The newest log entries of a task, oldest first."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM log WHERE taskspace = ? ORDER BY number DESC LIMIT ?",  # noqa: S608 - only constants are inserted
        (taskspace, most),
    )
    return [_entry(row) for row in rows][::-1]


def open_questions(connection: sqlite3.Connection) -> list[LogEntry]:
    """Open questions to the user, in all tasks, longest first."""
    rows = connection.execute(
        # Otherwise SQLite reads the whole log in the order of its numbers.
        f"SELECT {_COLUMNS} FROM log INDEXED BY log_open WHERE category = 'question'"  # noqa: S608 - only constants are inserted
        " AND acknowledged_at IS NULL ORDER BY number"
    )
    return [_entry(row) for row in rows]


def count_open(connection: sqlite3.Connection, taskspace: str) -> int:
    """The number of open questions of a taskspace."""
    (count,) = connection.execute(
        "SELECT COUNT(*) FROM log WHERE taskspace = ? AND category = 'question'"
        " AND acknowledged_at IS NULL",
        (taskspace,),
    ).fetchone()
    return count


def ends(connection: sqlite3.Connection, taskspaces: Sequence[str]) -> dict[str, LogSummary]:
    """The ends of these logs; nothing for a taskspace that does not exist."""
    found: dict[str, LogSummary] = {}
    for id_ in taskspaces:
        if connection.execute("SELECT 1 FROM taskspace WHERE id = ?", (id_,)).fetchone():
            last = latest(connection, id_, 1)
            found[id_] = LogSummary(last[0] if last else None, count_open(connection, id_))
    return found


def last_evidence(connection: sqlite3.Connection, taskspace: str) -> str:
    """The evidence of the last entry that has some; empty otherwise."""
    row = connection.execute(
        "SELECT evidence FROM log WHERE taskspace = ? AND evidence <> ''"
        " ORDER BY number DESC LIMIT 1",
        (taskspace,),
    ).fetchone()
    return "" if row is None else row[0]


def acknowledge(connection: sqlite3.Connection, number: int, at: str) -> LogEntry | None:
    """Record that the user has seen a question; None if it is not open."""
    changed = connection.execute(
        "UPDATE log SET acknowledged_at = ?"
        " WHERE number = ? AND category = 'question' AND acknowledged_at IS NULL",
        (at, number),
    ).rowcount
    if not changed:
        return None
    row = connection.execute(f"SELECT {_COLUMNS} FROM log WHERE number = ?", (number,)).fetchone()  # noqa: S608 - only constants are inserted
    return _entry(row)


def _entry(row: tuple[int, str, str, str, str, str, str, str | None]) -> LogEntry:
    number, id_, taskspace, at, category, message, evidence, acknowledged_at = row
    return LogEntry(
        number, id_, taskspace, at, Category(category), message, evidence, acknowledged_at
    )


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
"""The process may be killed after each of these; tests kill it after every one."""

StageHook = Callable[[str], None]
"""Called with each stage right after it."""


class OperationKind(StrEnum):
    """Kind of an operation."""

    CREATE = "create"
    DELETE = "delete"
    UNDO = "undo"
    LAND = "land"


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation that has not ended.

    Attributes:
        stage: the last one that is done.
        detail: data for its next stages.
    """

    taskspace: str
    kind: OperationKind
    stage: str
    detail: dict[str, Any] = field(default_factory=dict[str, Any])

    def is_past(self, stage: str) -> bool:
        """Whether a stage is done."""
        return STAGES.index(self.stage) >= STAGES.index(stage)


def note(connection: sqlite3.Connection, operation: Operation) -> None:
    """Save the stage of an operation."""
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
    """Delete the operation of a task."""
    connection.execute("DELETE FROM operation WHERE taskspace = ?", (taskspace,))


def is_unfinished(connection: sqlite3.Connection, taskspace: str) -> bool:
    """Whether a task has an operation that has not ended."""
    return any(each.taskspace == taskspace for each in unfinished(connection))


def unfinished(connection: sqlite3.Connection) -> list[Operation]:
    """All operations that have not ended."""
    rows = connection.execute("SELECT taskspace, kind, stage, detail FROM operation")
    return [
        Operation(taskspace, OperationKind(kind), stage, msgspec.json.decode(detail))
        for taskspace, kind, stage, detail in rows
    ]


FIRST: Final = 20000
LAST: Final = 32000
"""Below the ports that systems assign themselves."""

SPACING: Final = 10
"""Distance between blocks of ports; the maximum size of a block."""


def claim(
    connection: sqlite3.Connection,
    taskspace: str,
    count: int,
    is_free: Callable[[int], bool],
) -> Ports:
    """The block of ports of a task; assigns the lowest free one if it has none yet.

    Raises:
        TaskspaceError: too many are wanted, or all are taken.
    """
    if not 0 < count <= SPACING:
        raise TaskspaceError(f"cannot reserve {count} ports", f"a task has 1 to {SPACING}")
    row = connection.execute(
        "SELECT first, count FROM ports WHERE taskspace = ?", (taskspace,)
    ).fetchone()
    if row:
        return Ports(*row)
    taken = {first for (first,) in connection.execute("SELECT first FROM ports")}
    for first in range(FIRST, LAST, SPACING):
        if first not in taken and all(map(is_free, range(first, first + count))):
            connection.execute(
                "INSERT INTO ports (first, count, taskspace) VALUES (?, ?, ?)",
                (first, count, taskspace),
            )
            return Ports(first, count)
    raise TaskspaceError("all blocks of ports are taken", "delete tasks that are done")


def release(connection: sqlite3.Connection, taskspace: str) -> None:
    """Release a task's block."""
    connection.execute("DELETE FROM ports WHERE taskspace = ?", (taskspace,))


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(Taskspace)


def save(connection: sqlite3.Connection, taskspace: Taskspace) -> None:
    """Insert a task, or replace the one with its id."""
    connection.execute(
        "INSERT OR REPLACE INTO taskspace (id, project, worktree, record) VALUES (?, ?, ?, ?)",
        (taskspace.id, taskspace.project, taskspace.worktree, _ENCODER.encode(taskspace)),
    )


def forget(connection: sqlite3.Connection, id_: str) -> None:
    """Delete a task, with all its rows."""
    for table in ("log", "ports", "operation", "guidance", "resolution"):
        connection.execute(f"DELETE FROM {table} WHERE taskspace = ?", (id_,))  # noqa: S608 - only constants are inserted
    connection.execute("DELETE FROM taskspace WHERE id = ?", (id_,))


def read_record(record: bytes) -> Taskspace:
    """A task from its row."""
    return _DECODER.decode(record)


def load(connection: sqlite3.Connection, id_: str) -> Taskspace | None:
    """Load a task by its id; None if it does not exist."""
    row = connection.execute("SELECT record FROM taskspace WHERE id = ?", (id_,)).fetchone()
    return _DECODER.decode(row[0]) if row else None


def taken_worktrees(connection: sqlite3.Connection, paths: Sequence[str]) -> set[str]:
    """Paths among these that are the worktree of a task, also of an archived one."""
    rows = connection.execute(
        "SELECT worktree FROM taskspace WHERE worktree IN (SELECT value FROM json_each(?))",
        (json.dumps(list(paths)),),
    )
    return {worktree for (worktree,) in rows}


def load_all(connection: sqlite3.Connection) -> list[Taskspace]:
    """Load all tasks, oldest first."""
    rows = connection.execute("SELECT record FROM taskspace ORDER BY rowid")
    return [_DECODER.decode(record) for (record,) in rows]

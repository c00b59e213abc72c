"""Progress and questions of taskspaces, as rows of the journal."""

import sqlite3
from typing import Final

from symposium.taskspaces.model import Category, LogEntry

_COLUMNS: Final = "number, id, taskspace, at, category, message, evidence, acknowledged_at"


def append(connection: sqlite3.Connection, entry: LogEntry) -> LogEntry:
    """Add an entry; the same with its number. One with an id that is there is not added again."""
    connection.execute(
        "INSERT OR IGNORE INTO log (id, taskspace, at, category, message, evidence,"
        " acknowledged_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            entry.id,
            entry.taskspace,
            entry.at,
            entry.category,
            entry.message,
            entry.evidence,
            entry.acknowledged_at,
        ),
    )
    row = connection.execute(f"SELECT {_COLUMNS} FROM log WHERE id = ?", (entry.id,)).fetchone()  # noqa: S608 - ours
    return _entry(row)


def entries(
    connection: sqlite3.Connection, taskspace: str, *, after: int = 0, most: int = 1000
) -> list[LogEntry]:
    """The entries of a taskspace after one number, oldest first."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM log WHERE taskspace = ? AND number > ? ORDER BY number LIMIT ?",  # noqa: S608 - ours
        (taskspace, after, most),
    )
    return [_entry(row) for row in rows]


def latest(connection: sqlite3.Connection, taskspace: str, most: int) -> list[LogEntry]:
    """The newest entries of a taskspace, oldest first."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM log WHERE taskspace = ? ORDER BY number DESC LIMIT ?",  # noqa: S608 - ours
        (taskspace, most),
    )
    return [_entry(row) for row in rows][::-1]


def open_questions(connection: sqlite3.Connection) -> list[LogEntry]:
    """What waits for a person, in every taskspace, longest first."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM log WHERE category = ? AND acknowledged_at IS NULL"  # noqa: S608 - ours
        " ORDER BY number",
        (Category.QUESTION,),
    )
    return [_entry(row) for row in rows]


def acknowledge(connection: sqlite3.Connection, taskspace: str, at: str) -> int:
    """Note that a person has seen what waited in a taskspace; how many entries."""
    return connection.execute(
        "UPDATE log SET acknowledged_at = ?"
        " WHERE taskspace = ? AND category = ? AND acknowledged_at IS NULL",
        (at, taskspace, Category.QUESTION),
    ).rowcount


def _entry(row: tuple[int, str, str, str, str, str, str, str | None]) -> LogEntry:
    number, id_, taskspace, at, category, message, evidence, acknowledged_at = row
    return LogEntry(
        number, id_, taskspace, at, Category(category), message, evidence, acknowledged_at
    )

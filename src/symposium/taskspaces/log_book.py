"""Progress and questions of taskspaces, as rows of the journal."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from symposium.taskspaces.model import Category, LogEntry

_COLUMNS: Final = "number, id, taskspace, at, category, message, evidence, acknowledged_at"


@dataclass(frozen=True, slots=True)
class LogSummary:
    """The end of a log: its last entry, if any, and the number of open questions."""

    last: LogEntry | None
    waiting: int


def append(
    connection: sqlite3.Connection, entry: LogEntry, topic: str | None = None
) -> LogEntry | None:
    """Add an entry; the entry with its number.

    One with a known id is not added again. None for a topic that its log already has.
    """
    connection.execute(
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
    row = connection.execute(f"SELECT {_COLUMNS} FROM log WHERE id = ?", (entry.id,)).fetchone()  # noqa: S608 - ours
    return None if row is None else _entry(row)


def topics(connection: sqlite3.Connection, beginning: str) -> set[tuple[str, str]]:
    """The taskspace and the topic of every warning whose topic begins like this."""
    rows = connection.execute(
        "SELECT taskspace, topic FROM log WHERE topic IS NOT NULL AND substr(topic, 1, ?) = ?",
        (len(beginning), beginning),
    )
    return {(taskspace, topic) for taskspace, topic in rows}


def close_topic(connection: sqlite3.Connection, taskspace: str, topic: str) -> None:
    """Let a warning of a topic be given again."""
    words = "UPDATE log SET topic = NULL WHERE taskspace = ? AND topic = ?"
    connection.execute(words, (taskspace, topic))


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
        # SQLite would read the whole log in the order of its numbers.
        f"SELECT {_COLUMNS} FROM log INDEXED BY log_open WHERE category = 'question'"  # noqa: S608 - ours
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
    """The evidence that was logged last; empty for none."""
    row = connection.execute(
        "SELECT evidence FROM log WHERE taskspace = ? AND evidence <> ''"
        " ORDER BY number DESC LIMIT 1",
        (taskspace,),
    ).fetchone()
    return "" if row is None else row[0]


def acknowledge(connection: sqlite3.Connection, number: int, at: str) -> LogEntry | None:
    """Note that a user has seen one question; None if it does not wait."""
    changed = connection.execute(
        "UPDATE log SET acknowledged_at = ?"
        " WHERE number = ? AND category = 'question' AND acknowledged_at IS NULL",
        (at, number),
    ).rowcount
    if not changed:
        return None
    row = connection.execute(f"SELECT {_COLUMNS} FROM log WHERE number = ?", (number,)).fetchone()  # noqa: S608 - ours
    return _entry(row)


def _entry(row: tuple[int, str, str, str, str, str, str, str | None]) -> LogEntry:
    number, id_, taskspace, at, category, message, evidence, acknowledged_at = row
    return LogEntry(
        number, id_, taskspace, at, Category(category), message, evidence, acknowledged_at
    )

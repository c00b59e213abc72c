"""Upgrade the tables of an older `taskspaces.db` in one transaction."""

import re
import sqlite3
from collections.abc import Callable
from typing import Final

_RECORD: Final = "CAST(record AS TEXT)"

_COLUMNS: Final = {
    "name": f"json_extract({_RECORD}, '$.name')",
    "branch": f"json_extract({_RECORD}, '$.branch')",
    "parent": f"json_extract({_RECORD}, '$.parent')",
    "standing": f"json_extract({_RECORD}, '$.standing')",
    "reason": f"json_extract({_RECORD}, '$.reason')",
    "activated_at": f"json_extract({_RECORD}, '$.activated_at')",
    "is_archived": f"json_extract({_RECORD}, '$.standing') = 'archived'",
}
"""Columns that SQLite computes from the record, so that an index finds a task by them."""

_INDEXES: Final = (
    "CREATE INDEX taskspace_name ON taskspace (name)",
    "CREATE INDEX taskspace_branch ON taskspace (branch)",
    "CREATE INDEX taskspace_parent ON taskspace (parent)",
    "CREATE INDEX taskspace_standing ON taskspace (standing)",
    "CREATE INDEX taskspace_reason ON taskspace (standing) WHERE reason <> ''",
    "CREATE INDEX taskspace_recent ON taskspace (is_archived, activated_at DESC)",
    (
        "CREATE INDEX log_open ON log (taskspace, number)"
        " WHERE category = 'question' AND acknowledged_at IS NULL"
    ),
    "CREATE INDEX log_evidence ON log (taskspace, number) WHERE evidence <> ''",
    "CREATE UNIQUE INDEX log_topic ON log (taskspace, topic) WHERE topic IS NOT NULL",
)

_QUOTED: Final = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""

_WARNINGS: Final = re.compile(
    rf"changes the same lines as {_QUOTED}: "
    r"|80% of [^\n]+? is spent(?=: )"
    r"|costs in [^\n]+ do not count against a budget in [^\n]+: no rate is known"
)
"""What version 1 looked for at the start of a warning, to write it once."""


def upgrade_to_2(connection: sqlite3.Connection) -> None:
    """Add the columns, indexes, and topics of version 2, unless they are there."""
    if connection.execute("PRAGMA user_version").fetchone() == (2,):
        # Another program has upgraded the file since its version was read.
        return
    for name, value in _COLUMNS.items():
        connection.execute(f"ALTER TABLE taskspace ADD COLUMN {name} AS ({value}) VIRTUAL")
    connection.execute("ALTER TABLE log ADD COLUMN topic TEXT")
    for statement in _INDEXES:
        connection.execute(statement)
    _find_topics(connection, _WARNINGS.match)
    connection.execute("PRAGMA user_version=2")


def _find_topics(
    connection: sqlite3.Connection, match: Callable[[str], re.Match[str] | None]
) -> None:
    """Give the warnings of version 1 their topics, so that none is written again."""
    rows = connection.execute(
        "SELECT number, message FROM log WHERE category = 'warn' ORDER BY number"
    )
    found = [(warning[0], number) for number, text in rows if (warning := match(text))]
    # The oldest of several equal ones has the topic: the index allows one.
    connection.executemany("UPDATE OR IGNORE log SET topic = ? WHERE number = ?", found)

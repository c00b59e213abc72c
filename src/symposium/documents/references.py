"""Stored values by key, for all processes of the user (bus-mcp §4.6).

Processes share one file: the editor that stores a reference and the agent that expands it differ.
"""

import sqlite3
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from symposium.errors import SymposiumError

FILE: Final = "references.sqlite"

MAX_BYTES: Final = 1024 * 1024
"""Maximum size of a value as JSON, in bytes; for larger ones, store a path instead."""

MAX_TOTAL: Final = 64 * 1024 * 1024
"""Maximum size of all values, in bytes; the oldest are deleted first."""

LIFETIME: Final = 30 * 24 * 3600.0
"""Seconds after which a value is deleted."""

MAX_KEY: Final = 200

_LOCK_TIMEOUT: Final = 2.0
"""Seconds to wait for another writing process."""

_TABLE: Final = """
create table if not exists reference (
    key text primary key,
    value text not null,
    size integer not null,
    stored real not null,
    taskspace text not null
) without rowid;
create index if not exists by_age on reference (stored);
"""


class ReferenceStoreError(SymposiumError):
    """A value could not be stored or read."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A value stored under one key.

    Attributes:
        value: original JSON.
        stored: time in seconds since 1970.
        taskspace: taskspace of the value; empty for none.
    """

    key: str
    value: Any
    stored: float
    taskspace: str = ""


class ReferenceStore:
    """File of one home directory; opened for each use, so that no process blocks it."""

    def __init__(self, home: Path, now: Callable[[], float] = time.time) -> None:
        self._path = home / FILE
        self._now = now

    def put(self, key: str, value: Any, *, taskspace: str = "") -> None:
        """Store a value in place of an existing one; delete expired values.

        Raises:
            ReferenceStoreError: the key or the value is too long, or the file is not writable.
        """
        if not 0 < len(key) <= MAX_KEY:
            raise ReferenceStoreError(f"a key has 1 to {MAX_KEY} characters", "use a UUID")
        text = _json(value)
        size = len(text.encode())
        if size > MAX_BYTES:
            raise ReferenceStoreError(
                f"the value has {size} bytes; at most {MAX_BYTES} are allowed",
                "store the path and the lines instead of the text",
            )
        with self._open() as database:
            row = (key, text, size, self._now(), taskspace)
            database.execute("insert or replace into reference values (?, ?, ?, ?, ?)", row)
            self._make_room(database)

    def get(self, key: str) -> Reference | None:
        """Get the value of a key; None if it has no value.

        Raises:
            ReferenceStoreError: the file is unreadable.
        """
        if not self._path.exists():
            return None
        question = "select value, stored, taskspace from reference where key = ? and stored > ?"
        with self._open() as database:
            row = database.execute(question, (key, self._now() - LIFETIME)).fetchone()
        return None if row is None else Reference(key, msgspec.json.decode(row[0]), row[1], row[2])

    def newest(self, most: int = 100) -> list[str]:
        """Newest keys, newest first.

        Raises:
            ReferenceStoreError: the file is unreadable.
        """
        if not self._path.exists():
            return []
        question = "select key from reference where stored > ? order by stored desc limit ?"
        with self._open() as database:
            return [row[0] for row in database.execute(question, (self._now() - LIFETIME, most))]

    def count(self) -> int:
        """Number of stored values.

        Raises:
            ReferenceStoreError: the file is unreadable.
        """
        return len(self.newest(-1))

    def _make_room(self, database: sqlite3.Connection) -> None:
        database.execute("delete from reference where stored <= ?", (self._now() - LIFETIME,))
        database.execute(
            "delete from reference where key in (select key from ("
            "select key, sum(size) over (order by stored desc, key) as total from reference"
            ") where total > ?)",
            (MAX_TOTAL,),
        )

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.touch(mode=0o600)
            database = sqlite3.connect(self._path, timeout=_LOCK_TIMEOUT)
            try:
                database.execute("pragma journal_mode = wal")
                database.executescript(_TABLE)
                with database:
                    yield database
            finally:
                database.close()
        except (OSError, sqlite3.Error) as error:
            hint = "you can move it away; only attached references are lost"
            raise ReferenceStoreError(f"{self._path} cannot be used: {error}", hint) from error


def _json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError, UnicodeError) as error:
        raise ReferenceStoreError(f"the value is not JSON: {error}", "") from error

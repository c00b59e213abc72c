"""Values by key, for every process of the user; kept over restarts, within bounds (bus-mcp §4.6).

Any process of the user may open the same file: who types a reference and who expands it never meet.
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
"""Of one value as JSON; more is no selection but a file, which one names instead."""

MAX_TOTAL: Final = 64 * 1024 * 1024
"""Bytes of all values; the oldest go first."""

LIFETIME: Final = 30 * 24 * 3600.0
"""Seconds after which a value is forgotten."""

MAX_KEY: Final = 200

_LOCK_TIMEOUT: Final = 2.0
"""Seconds to wait for another process that is writing."""

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
    """A value cannot be kept, or what is kept cannot be read."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A value stored under one key.

    Attributes:
        value: the JSON, unchanged.
        stored: in seconds since 1970.
        taskspace: the taskspace it was stored for; empty for none.
    """

    key: str
    value: Any
    stored: float
    taskspace: str = ""


class ReferenceStore:
    """The file of one home; opened for each use, so that no process holds it."""

    def __init__(self, home: Path, now: Callable[[], float] = time.time) -> None:
        self._path = home / FILE
        self._now = now

    def put(self, key: str, value: Any, *, taskspace: str = "") -> None:
        """Keep a value in place of what stood there; what is too old or too much goes.

        Raises:
            ReferenceStoreError: the key or the value is too long, or nothing can be written.
        """
        if not 0 < len(key) <= MAX_KEY:
            raise ReferenceStoreError(f"a key has 1 to {MAX_KEY} characters", "use a UUID")
        text = _json(value)
        size = len(text.encode())
        if size > MAX_BYTES:
            raise ReferenceStoreError(
                f"the value has {size} bytes, and {MAX_BYTES} are kept at most",
                "store the path and the lines instead of the text",
            )
        with self._open() as database:
            row = (key, text, size, self._now(), taskspace)
            database.execute("insert or replace into reference values (?, ?, ?, ?, ?)", row)
            self._make_room(database)

    def get(self, key: str) -> Reference | None:
        """Get the value of a key; None if it has no value.

        Raises:
            ReferenceStoreError: the file cannot be read.
        """
        if not self._path.exists():
            return None
        question = "select value, stored, taskspace from reference where key = ? and stored > ?"
        with self._open() as database:
            row = database.execute(question, (key, self._now() - LIFETIME)).fetchone()
        return None if row is None else Reference(key, msgspec.json.decode(row[0]), row[1], row[2])

    def newest(self, most: int = 100) -> list[str]:
        """The newest keys, the newest first.

        Raises:
            ReferenceStoreError: the file cannot be read.
        """
        if not self._path.exists():
            return []
        question = "select key from reference where stored > ? order by stored desc limit ?"
        with self._open() as database:
            return [row[0] for row in database.execute(question, (self._now() - LIFETIME, most))]

    def count(self) -> int:
        """Number of stored values.

        Raises:
            ReferenceStoreError: the file cannot be read.
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
            hint = "it can be moved away; only attached references are lost"
            raise ReferenceStoreError(f"{self._path} cannot be used: {error}", hint) from error


def _json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError, UnicodeError) as error:
        raise ReferenceStoreError(f"the value is no JSON: {error}", "") from error

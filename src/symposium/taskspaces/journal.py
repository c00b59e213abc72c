"""The engine's memory: an SQLite file in which what was acknowledged lasts.

Write-ahead log with `synchronous=FULL`: a write that returned is on the disk (architecture D12).
"""

import asyncio
import json
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from localio.files import make_private_directory, storage_error_text
from symposium.taskspaces.failures import TaskspaceError
from symposium.taskspaces.journal_upgrade import upgrade_to_2
from symposium.taskspaces.model import Taskspace
from symposium.taskspaces.undertakings import Undertakings

Result = TypeVar("Result")

FORMAT: Final = 2
"""The version of the tables. A newer file is left alone, an older one is upgraded."""

_STORAGE_HINT: Final = "free space on its file system, or make the file writable"

_BUSY: Final = 10.0
"""Seconds that another program may hold the file."""

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS taskspace (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, worktree TEXT NOT NULL, record BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS taskspace_project ON taskspace (project);
CREATE INDEX IF NOT EXISTS taskspace_worktree ON taskspace (worktree);
CREATE TABLE IF NOT EXISTS log (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, taskspace TEXT NOT NULL,
    at TEXT NOT NULL, category TEXT NOT NULL, message TEXT NOT NULL, evidence TEXT NOT NULL,
    acknowledged_at TEXT
);
CREATE INDEX IF NOT EXISTS log_taskspace ON log (taskspace, number);
CREATE TABLE IF NOT EXISTS ports (
    first INTEGER PRIMARY KEY, count INTEGER NOT NULL, taskspace TEXT NOT NULL UNIQUE
);
CREATE TABLE IF NOT EXISTS guidance (
    taskspace TEXT NOT NULL, id TEXT NOT NULL, layer TEXT NOT NULL, sha256 TEXT NOT NULL,
    at TEXT NOT NULL, count INTEGER NOT NULL, UNIQUE (taskspace, id, layer, sha256)
);
CREATE TABLE IF NOT EXISTS operation (
    taskspace TEXT PRIMARY KEY, kind TEXT NOT NULL, stage TEXT NOT NULL, detail BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS resolution (taskspace TEXT PRIMARY KEY, record BLOB NOT NULL);
"""


class Journal:
    """One connection; its work happens off the event loop, one piece at a time."""

    def __init__(self, path: Path) -> None:
        """Open the file, made if it is not there.

        Raises:
            TaskspaceError: it is damaged, newer than we are, or cannot be written.
        """
        self.path = path
        self._turn = threading.Lock()
        self._writing = Undertakings()
        try:
            make_private_directory(path.parent)
            # Before SQLite makes it: the files beside it get the mode that it has by then.
            path.touch(mode=0o600)
            self._connection = sqlite3.connect(
                path, timeout=_BUSY, isolation_level=None, check_same_thread=False
            )
            self._prepare()
        except OSError as error:
            raise TaskspaceError(storage_error_text(error), "") from error
        except sqlite3.OperationalError as error:
            # Full, read-only, or locked: the file itself is not damaged.
            raise TaskspaceError(f"{path} cannot be used: {error}", _STORAGE_HINT) from error
        except sqlite3.Error as error:
            hint = "move it away: what its taskspaces need is also in their taskspace.json"
            raise TaskspaceError(f"{path} cannot be used: {error}", hint) from error

    def _prepare(self) -> None:
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if version > FORMAT:
            self._connection.close()
            raise TaskspaceError(f"{self.path} was written by a newer version", "update Symposium")
        self._connection.executescript(_TABLES)
        if version < FORMAT:
            self._change(upgrade_to_2)
        self.path.chmod(0o600)

    def close(self) -> None:
        """Close the file."""
        with self._turn:
            self._connection.close()

    async def change(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Do something in one transaction; once this returns, it lasts.

        Raises:
            TaskspaceError: the file cannot be written.
        """
        # A thread cannot be stopped: who is cancelled goes on when it is known what was written.
        return await self._writing.to_its_end(asyncio.to_thread(self._change, work))

    async def look(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Read something."""
        return await asyncio.to_thread(self._look, work)

    def _look(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        with self._turn:
            return work(self._connection)

    def _change(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        with self._turn:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    result = work(self._connection)
                except BaseException:
                    self._connection.execute("ROLLBACK")
                    raise
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                text = f"{self.path} cannot be written: {error}"
                raise TaskspaceError(text, _STORAGE_HINT) from error
            return result


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(Taskspace)


def save(connection: sqlite3.Connection, taskspace: Taskspace) -> None:
    """Write what is known of a taskspace."""
    connection.execute(
        "INSERT OR REPLACE INTO taskspace (id, project, worktree, record) VALUES (?, ?, ?, ?)",
        (taskspace.id, taskspace.project, taskspace.worktree, _ENCODER.encode(taskspace)),
    )


def forget(connection: sqlite3.Connection, id_: str) -> None:
    """Take a taskspace out, with all that belongs to it."""
    for table in ("log", "ports", "operation", "guidance", "resolution"):
        connection.execute(f"DELETE FROM {table} WHERE taskspace = ?", (id_,))  # noqa: S608 - ours
    connection.execute("DELETE FROM taskspace WHERE id = ?", (id_,))


def read_record(record: bytes) -> Taskspace:
    """A task from its row."""
    return _DECODER.decode(record)


def load(connection: sqlite3.Connection, id_: str) -> Taskspace | None:
    """What is known of a taskspace."""
    row = connection.execute("SELECT record FROM taskspace WHERE id = ?", (id_,)).fetchone()
    return _DECODER.decode(row[0]) if row else None


def taken_worktrees(connection: sqlite3.Connection, paths: Sequence[str]) -> set[str]:
    """Those of these paths that are the worktree of a task, also of an archived one."""
    rows = connection.execute(
        "SELECT worktree FROM taskspace WHERE worktree IN (SELECT value FROM json_each(?))",
        (json.dumps(list(paths)),),
    )
    return {worktree for (worktree,) in rows}


def load_all(connection: sqlite3.Connection) -> list[Taskspace]:
    """What is known of every taskspace, oldest first."""
    rows = connection.execute("SELECT record FROM taskspace ORDER BY rowid")
    return [_DECODER.decode(record) for (record,) in rows]

"""The task store: an SQLite file, its upgrades, and tasks shielded from cancellation.

Write-ahead log with `synchronous=FULL`: a write that returned is on the disk (architecture D12).
"""

import asyncio
import logging
import re
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from localio.files import make_private_directory, storage_error_text
from peerwire.errors import ErrorBoundary
from symposium.tasks.model import TaskspaceError

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
"""Start of a warning of version 1, which identified its topic."""


def upgrade_to_2(connection: sqlite3.Connection) -> None:
    """Add the columns, indexes, and topics of version 2, if they are missing."""
    if connection.execute("PRAGMA user_version").fetchone() == (2,):
        # Another process has upgraded the file since its version was read.
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
    """Set the topic of each warning of version 1, so that it is not logged twice."""
    rows = connection.execute(
        "SELECT number, message FROM log WHERE category = 'warn' ORDER BY number"
    )
    found = [(warning[0], number) for number, text in rows if (warning := match(text))]
    # The index allows each topic once per task: the oldest warning gets it.
    connection.executemany("UPDATE OR IGNORE log SET topic = ? WHERE number = ?", found)


_log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

SHUTDOWN_TIMEOUT: Final = 3.0
"""Seconds for canceled work to stop; less than the time for a part of the daemon."""


class ShieldedTasks:
    """Work that runs to completion even if its caller is canceled."""

    def __init__(self) -> None:
        self._going: set[asyncio.Task[Exception | None]] = set()
        self._is_stopped = False

    @property
    def is_stopped(self) -> bool:
        """Whether `cancel_all` was called: unfinished operations are left to the next start."""
        return self._is_stopped

    @property
    def is_empty(self) -> bool:
        """Whether no work is running."""
        return not self._going

    async def run_shielded(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run work and return its result; a canceled caller waits for the end first.

        Raises:
            asyncio.CancelledError: the caller (the work is done) or the work was canceled.
        """
        results: list[_Result] = []

        async def run() -> Exception | None:
            # The caller gets the error itself, not the error group.
            with ErrorBoundary() as caught:
                results.append(await work)
            return caught.error

        async with asyncio.TaskGroup() as tasks:
            going = tasks.create_task(run())
            self._going.add(going)
            going.add_done_callback(self._going.discard)
            try:
                error = await _shielded(going)
            except asyncio.CancelledError:
                _note(going)
                raise
            finally:
                # A task that is canceled before its first step never starts.
                work.close()
        if error is not None:
            raise error
        return results[0]

    async def after_failure(self, rollback: Coroutine[Any, Any, object]) -> None:
        """Run a rollback and log its failure: the caller reports the first failure.

        The next start recovers from an incomplete rollback.
        """
        with ErrorBoundary() as caught:
            await self.run_shielded(rollback)
        if caught.error is not None:
            _log.error("a rollback failed: %s", caught.error, exc_info=caught.error)

    async def cancel_all(self) -> None:
        """Stop all work now: the next start recovers."""
        self._is_stopped = True
        for going in self._going:
            going.cancel()
        if self._going:
            await asyncio.wait(self._going, timeout=SHUTDOWN_TIMEOUT)


async def _shielded(future: asyncio.Future[_Result]) -> _Result:
    """Wait for a future; a caller that is canceled, even repeatedly, waits for its end first."""
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        while not future.done():
            with suppress(asyncio.CancelledError):  # it was canceled again
                await asyncio.wait({future})
        raise


def _note(going: asyncio.Task[Exception | None]) -> None:
    """Log the failure: the caller was canceled and cannot report it."""
    error = None if going.cancelled() else going.result()
    if error is not None:
        _log.error("failed after its caller was canceled: %s", error, exc_info=error)


Result = TypeVar("Result")

FORMAT: Final = 2
"""The version of the tables. A newer file is rejected, an older one is upgraded."""

_STORAGE_HINT: Final = "free space on its file system, or make the file writable"

_BUSY: Final = 10.0
"""Seconds to wait while another process locks the file."""

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


class TaskStore:
    """One connection; queries run off the event loop, one at a time."""

    def __init__(self, path: Path) -> None:
        """Open the file; creates it if it does not exist.

        Raises:
            TaskspaceError: it is damaged, of a newer version, or not writable.
        """
        self.path = path
        self._turn = threading.Lock()
        self._pending: deque[_PendingWrite] = deque()
        try:
            make_private_directory(path.parent)
            path.touch(mode=0o600)
            self._connection = sqlite3.connect(
                path, timeout=_BUSY, isolation_level=None, check_same_thread=False
            )
            self._prepare()
        except OSError as error:
            raise TaskspaceError(storage_error_text(error), "") from error
        except sqlite3.OperationalError as error:
            # Full, read-only, or locked: the file itself is not damaged.
            raise TaskspaceError(f"cannot use {path}: {error}", _STORAGE_HINT) from error
        except sqlite3.Error as error:
            hint = "move it away; the data of its tasks is also in their taskspace.json"
            raise TaskspaceError(f"cannot use {path}: {error}", hint) from error

    def _prepare(self) -> None:
        # First: the files that SQLite makes beside it get the mode that it has then.
        self.path.chmod(0o600)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if version > FORMAT:
            self._connection.close()
            raise TaskspaceError(f"{self.path} was written by a newer version", "update Symposium")
        self._connection.executescript(_TABLES)
        if version < FORMAT:
            upgrade = _PendingWrite(upgrade_to_2)
            self._pending.append(upgrade)
            self._write_pending(upgrade)
            if upgrade.error is not None:
                raise upgrade.error

    def close(self) -> None:
        """Close the database when the running query has ended."""
        with self._turn:
            self._connection.close()

    async def write(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run work in one transaction; it is saved on return.

        Raises:
            TaskspaceError: the file cannot be written.
        """
        pending = _PendingWrite(work)
        self._pending.append(pending)
        loop = asyncio.get_running_loop()
        writing = loop.run_in_executor(None, self._write_pending, pending)
        # A thread cannot be stopped: a canceled caller waits for the result of the write.
        await _shielded(writing)
        if pending.error is not None:
            raise pending.error
        return cast("Result", pending.result)

    async def read(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run a query in a thread, outside any transaction."""
        return await asyncio.to_thread(self._look, work)

    def _look(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        with self._turn:
            return work(self._connection)

    def _write_pending(self, pending: "_PendingWrite") -> None:
        """Write everything that waits in one transaction, unless another thread has done so.

        Writes wait while another thread syncs the disk. One sync is enough for all of them.
        """
        with self._turn:
            if pending.is_done:
                return
            together = [self._pending.popleft() for _ in range(len(self._pending))]
            try:
                self._transaction(together)
            except sqlite3.Error as error:
                for each in together:
                    each.error = self._unwritten(error)
            finally:
                for each in together:
                    each.is_done = True

    def _transaction(self, together: "Sequence[_PendingWrite]") -> None:
        """Run these writes and commit; one that raises leaves no change, and the others stay."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            if len(together) == 1:
                self._run(together[0])
            else:
                for each in together:
                    self._connection.execute("SAVEPOINT one")
                    self._run(each)
                    if each.error is not None:
                        # Fails where the disk is full: then SQLite has rolled everything back.
                        self._connection.execute("ROLLBACK TO one")
                    self._connection.execute("RELEASE one")
            if len(together) > 1 or together[0].error is None:
                self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _run(self, pending: "_PendingWrite") -> None:
        with ErrorBoundary() as caught:
            pending.result = pending.work(self._connection)
        error = caught.error
        pending.error = self._unwritten(error) if isinstance(error, sqlite3.Error) else error

    def _unwritten(self, cause: Exception) -> TaskspaceError:
        error = TaskspaceError(f"cannot write {self.path}: {cause}", _STORAGE_HINT)
        error.__cause__ = cause
        return error


@dataclass(slots=True, eq=False)
class _PendingWrite:
    """A write that waits for its transaction, and its outcome."""

    work: Callable[[sqlite3.Connection], Any]
    result: Any = None
    error: Exception | None = None
    is_done: bool = False

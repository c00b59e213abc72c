"""Read the logs of tasks, and which guidance their agents have read."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from symposium.tasks import tables
from symposium.tasks.engine_context import EngineContext
from symposium.tasks.model import LogEntry
from symposium.tasks.tables import LogSummary


@dataclass(frozen=True, slots=True)
class LogReader:
    """Read-only access to all logs."""

    context: EngineContext

    async def entries(self, id_: str, after: int = 0, most: int = 1000) -> list[LogEntry]:
        """Log entries after a number, oldest first.

        Raises:
            UnknownTaskspaceError: the task does not exist.
        """
        taskspace = await self.context.get(id_)
        return await self.context.journal.read(
            lambda connection: tables.entries(connection, taskspace.id, after=after, most=most)
        )

    async def latest(self, id_: str, most: int) -> list[LogEntry]:
        """The newest log entries, oldest first.

        Raises:
            UnknownTaskspaceError: the task does not exist.
        """
        taskspace = await self.context.get(id_)
        return await self.context.journal.read(
            lambda connection: tables.latest(connection, taskspace.id, most)
        )

    async def summary(self, id_: str) -> LogSummary:
        """The last entry of a log, and the number of its open questions.

        Raises:
            UnknownTaskspaceError: the task does not exist.
        """
        taskspace = await self.context.get(id_)
        return (await self.summaries([taskspace.id]))[taskspace.id]

    async def summaries(self, ids: Sequence[str]) -> dict[str, LogSummary]:
        """Summaries of several logs, by task; without deleted tasks."""
        return await self.context.journal.read(lambda connection: tables.ends(connection, ids))

    async def evidence(self, id_: str) -> str:
        """The evidence of the last entry that has some; empty otherwise."""
        return await self.context.journal.read(
            lambda connection: tables.last_evidence(connection, id_)
        )

    async def attention(self) -> list[LogEntry]:
        """Open questions to the user in all tasks, longest first."""
        return await self.context.journal.read(tables.open_questions)


MAX_READINGS: Final = 200
"""Maximum number of remembered texts of one task; the oldest are dropped."""


@dataclass(frozen=True, slots=True)
class GuidanceEntry:
    """One text that an agent has read.

    Attributes:
        id: name of the file or the prompt.
        layer: source: project, team, user, or built-in; empty for a prompt.
        sha256: the hash of its content at that time.
        at: time of the last reading, ISO 8601, UTC.
        count: number of readings.
    """

    id: str
    layer: str
    sha256: str
    at: str
    count: int


class GuidanceLog:
    """Record the texts that agents have read."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    async def note(self, taskspace: str, id_: str, layer: str, sha256: str) -> None:
        """Record that an agent of a task has read a text.

        Raises:
            TaskspaceError: it cannot be written.
        """
        at = self._context.stamp()

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO guidance (taskspace, id, layer, sha256, at, count)"
                " VALUES (?, ?, ?, ?, ?, 1) ON CONFLICT (taskspace, id, layer, sha256)"
                " DO UPDATE SET at = excluded.at, count = count + 1",
                (taskspace, id_, layer, sha256, at),
            )
            connection.execute(
                "DELETE FROM guidance WHERE taskspace = ?1 AND rowid NOT IN (SELECT rowid"
                " FROM guidance WHERE taskspace = ?1 ORDER BY at DESC, rowid DESC LIMIT ?2)",
                (taskspace, MAX_READINGS),
            )

        await self._context.journal.write(write)

    async def of(self, taskspace: str) -> list[GuidanceEntry]:
        """Texts that the agents of a task have read, the first first."""

        def read(connection: sqlite3.Connection) -> list[GuidanceEntry]:
            rows = connection.execute(
                "SELECT id, layer, sha256, at, count FROM guidance WHERE taskspace = ?"
                " ORDER BY rowid",
                (taskspace,),
            )
            return [GuidanceEntry(*row) for row in rows]

        return await self._context.journal.read(read)

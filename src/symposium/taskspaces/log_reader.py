"""Read the logs of taskspaces: their end, a page of them, and what waits for an answer."""

from dataclasses import dataclass
from sqlite3 import Connection

from symposium.taskspaces import log_book
from symposium.taskspaces.ground import Ground
from symposium.taskspaces.model import LogEntry


@dataclass(frozen=True, slots=True)
class LogSummary:
    """The end of a log: its last entry, if any, and the number of open questions."""

    last: LogEntry | None
    waiting: int


@dataclass(frozen=True, slots=True)
class LogReader:
    """Read-only access to all logs."""

    ground: Ground

    async def entries(self, id_: str, after: int = 0, most: int = 1000) -> list[LogEntry]:
        """The log of a taskspace after one number, oldest first.

        Raises:
            UnknownTaskspaceError: there is none.
        """
        taskspace = await self.ground.get(id_)
        return await self.ground.journal.look(
            lambda connection: log_book.entries(connection, taskspace.id, after=after, most=most)
        )

    async def latest(self, id_: str, most: int) -> list[LogEntry]:
        """The newest entries of a taskspace's log, oldest first.

        Raises:
            UnknownTaskspaceError: there is none.
        """
        taskspace = await self.ground.get(id_)
        return await self.ground.journal.look(
            lambda connection: log_book.latest(connection, taskspace.id, most)
        )

    async def summary(self, id_: str) -> LogSummary:
        """The last entry of a log, and the number of its open questions.

        Raises:
            UnknownTaskspaceError: there is none.
        """

        def read(connection: Connection) -> LogSummary:
            last = log_book.latest(connection, taskspace.id, 1)
            waiting = log_book.count_open(connection, taskspace.id)
            return LogSummary(last[0] if last else None, waiting)

        taskspace = await self.ground.get(id_)
        return await self.ground.journal.look(read)

    async def evidence(self, id_: str) -> str:
        """The evidence that was logged last; empty for none."""
        return await self.ground.journal.look(
            lambda connection: log_book.last_evidence(connection, id_)
        )

    async def attention(self) -> list[LogEntry]:
        """What waits for a person in all taskspaces, longest first."""
        return await self.ground.journal.look(log_book.open_questions)

"""Read the logs of taskspaces: their end, a page of them, and what waits for an answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from symposium.taskspaces import log_book
from symposium.taskspaces.ground import Ground
from symposium.taskspaces.log_book import LogSummary
from symposium.taskspaces.model import LogEntry


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
        taskspace = await self.ground.get(id_)
        return (await self.summaries([taskspace.id]))[taskspace.id]

    async def summaries(self, ids: Sequence[str]) -> dict[str, LogSummary]:
        """The ends of several logs, by task; a task that is gone has none."""
        return await self.ground.journal.look(lambda connection: log_book.ends(connection, ids))

    async def evidence(self, id_: str) -> str:
        """The evidence that was logged last; empty for none."""
        return await self.ground.journal.look(
            lambda connection: log_book.last_evidence(connection, id_)
        )

    async def attention(self) -> list[LogEntry]:
        """What waits for a person in all taskspaces, longest first."""
        return await self.ground.journal.look(log_book.open_questions)

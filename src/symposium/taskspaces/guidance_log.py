"""Which guidance the agents of a task have read, as rows of the journal."""

import sqlite3
from dataclasses import dataclass
from typing import Final

from symposium.taskspaces.ground import Ground

MAX_READINGS: Final = 200
"""Texts of one task that are remembered; the oldest are dropped."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One text that was read.

    Attributes:
        id: its file name, or the name of a prompt.
        layer: who wrote it: project, team, user, or built-in; empty for a prompt.
        sha256: the hash of its content at that time.
        at: when it was last read, ISO 8601, UTC.
        count: how often.
    """

    id: str
    layer: str
    sha256: str
    at: str
    count: int


class GuidanceLog:
    """Notes what was read, and lists it."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def note(self, taskspace: str, id_: str, layer: str, sha256: str) -> None:
        """Note that an agent of a taskspace has read a text.

        Raises:
            TaskspaceError: it cannot be written.
        """
        at = self._ground.stamp()

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

        await self._ground.journal.change(write)

    async def of(self, taskspace: str) -> list[Reading]:
        """What the agents of a taskspace have read, the first first."""

        def read(connection: sqlite3.Connection) -> list[Reading]:
            rows = connection.execute(
                "SELECT id, layer, sha256, at, count FROM guidance WHERE taskspace = ?"
                " ORDER BY rowid",
                (taskspace,),
            )
            return [Reading(*row) for row in rows]

        return await self._ground.journal.look(read)

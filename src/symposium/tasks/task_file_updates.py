"""Limit writes of each `taskspace.json`: at most one a second for lines of its log.

The journal is authoritative; an outdated file is written within a second, or after the next
start of the daemon.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

MIN_INTERVAL: Final = 1.0
"""Seconds between two writes of a task's file for lines of its log."""


@dataclass(slots=True)
class FileUpdates:
    """The files that are behind the journal, and the time of the last write of each.

    Attributes:
        clock: seconds.
        pause: waits for a number of seconds.
        lock: held while a file is written.
    """

    clock: Callable[[], float] = time.monotonic
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _written: dict[str, float] = field(default_factory=dict[str, float])
    _due: set[str] = field(default_factory=set[str])
    _is_due: asyncio.Event = field(default_factory=asyncio.Event)

    def begins(self, id_: str) -> None:
        """Record that a task's file is written now, from a later read of the journal."""
        self._written[id_] = self.clock()
        self._due.discard(id_)

    def postpone(self, id_: str) -> bool:
        """Whether a task's file was written less than a second ago; it becomes due then."""
        written = self._written.get(id_)
        if written is None or self.clock() - written >= MIN_INTERVAL:
            return False
        self._due.add(id_)
        self._is_due.set()
        return True

    def due(self) -> list[str]:
        """The tasks whose files are behind the journal."""
        return list(self._due)

    async def ready(self) -> list[str]:
        """Wait until files may be written again; their tasks."""
        while True:
            await self._is_due.wait()
            now = self.clock()
            self._written = {
                id_: at for id_, at in self._written.items() if now - at < MIN_INTERVAL
            }
            if ready := [id_ for id_ in self._due if id_ not in self._written]:
                return ready
            if self._due:
                await self.pause(min(self._written[id_] for id_ in self._due) + MIN_INTERVAL - now)
            else:
                self._is_due.clear()

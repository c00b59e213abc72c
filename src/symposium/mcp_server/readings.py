"""Reports to the daemon which guidance an agent reads, so that `symposium task show` lists it."""

import asyncio
import hashlib
import logging
from collections import deque
from collections.abc import Iterable
from typing import Final

from symposium.bus.errors import BusError
from symposium.bus.messages.agents import GuidanceRead
from symposium.documents.guidance import GuidanceText
from symposium.mcp_server.bus_port import Bus
from symposium.mcp_server.detection import Standing

MAX_WAITING: Final = 100
"""Readings that wait for a daemon; the oldest are dropped."""

_log = logging.getLogger(__name__)


class Readings:
    """Takes what was read at once, and reports it when a daemon is there.

    Args:
        standing: where the agent is; outside a taskspace nothing is reported.
    """

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._waiting: deque[GuidanceRead] = deque(maxlen=MAX_WAITING)
        self._came = asyncio.Event()

    def note(self, texts: Iterable[GuidanceText]) -> None:
        """The agent was given these texts."""
        for text in texts:
            self._add(text.id, text.layer, text.sha256)

    def note_prompt(self, name: str, content: str) -> None:
        """The agent was given a prompt that names texts."""
        self._add(name, "", hashlib.sha256(content.encode()).hexdigest())

    async def run(self, bus: Bus) -> None:
        """Report what was read, until cancelled."""
        while True:
            await self._came.wait()
            self._came.clear()
            while self._waiting:
                await self._report(self._waiting.popleft(), bus)

    async def _report(self, reading: GuidanceRead, bus: Bus) -> None:
        try:
            await bus.request(reading)
        except BusError as error:
            _log.info("not reported that %s was read: %s", reading.id, error)

    def _add(self, id_: str, layer: str, sha256: str) -> None:
        if not self._standing.is_in_taskspace:
            return
        place = self._standing
        self._waiting.append(
            GuidanceRead(
                project_path=place.project,
                taskspace_uuid=place.taskspace,
                id=id_,
                layer=layer,
                sha256=sha256,
            )
        )
        self._came.set()

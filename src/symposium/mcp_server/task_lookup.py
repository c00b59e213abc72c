"""Lookup of an agent's task over the bus, and reports of its readings."""

import asyncio
import hashlib
import logging
from collections import deque
from collections.abc import Iterable
from typing import Final

from symposium.bus.endpoint import Bus
from symposium.bus.errors import BusError
from symposium.bus.messages.agents import GuidanceRead, TaskspaceInfo, TaskspaceState
from symposium.documents.first_prompt import TaskContext
from symposium.documents.guidance import GuidanceText
from symposium.mcp_server.location import AgentLocation, written_down

LOOKUP_TIMEOUT: Final = 0.1
"""Seconds to wait for the daemon: a prompt must be ready within 200 ms."""

_log = logging.getLogger(__name__)


async def look_up(
    standing: AgentLocation, bus: Bus, *, timeout: float = LOOKUP_TIMEOUT
) -> TaskContext | None:
    """The agent's current task; None outside a taskspace, or if it is unknown."""
    if not standing.is_in_taskspace:
        return None
    request = TaskspaceState(project_path=standing.project, taskspace_uuid=standing.taskspace)
    try:
        async with asyncio.timeout(timeout):
            return _context(await bus.request(request))
    except TimeoutError:
        _log.info("the daemon did not describe the task within %g s", timeout)
    except BusError as error:
        _log.info("reading the task from its file: %s", error)
    return written_down(standing)


async def keep_collaborator(
    standing: AgentLocation, bus: Bus, task: TaskContext | None, asked: str | None
) -> None:
    """Save the chosen collaborator, so that the next agent here gets the same.

    Skipped while the initial prompt waits, because any update of a task clears it (seed 000).
    """
    if not asked or task is None or task.initial_prompt or task.collaborator == asked:
        return
    request = TaskspaceState(
        project_path=standing.project, taskspace_uuid=standing.taskspace, collaborator=asked
    )
    try:
        await bus.request(request, timeout=LOOKUP_TIMEOUT)
    except BusError as error:
        _log.info("cannot save the collaborator: %s", error)


def _context(info: TaskspaceInfo) -> TaskContext:
    return TaskContext(info.name, info.description, info.initial_prompt, info.collaborator)


MAX_WAITING: Final = 100
"""Maximum readings that wait for a daemon; the oldest are dropped."""


class Readings:
    """Queue of readings, which are reported when a daemon runs.

    Args:
        standing: location of the agent; outside a task, nothing is reported.
    """

    def __init__(self, standing: AgentLocation) -> None:
        self._standing = standing
        self._waiting: deque[GuidanceRead] = deque(maxlen=MAX_WAITING)
        self._came = asyncio.Event()

    def note(self, texts: Iterable[GuidanceText]) -> None:
        """Queue these texts as read."""
        for text in texts:
            self._add(text.id, text.layer, text.sha256)

    def note_prompt(self, name: str, content: str) -> None:
        """Queue a whole prompt as one text, identified by its name."""
        self._add(name, "", hashlib.sha256(content.encode()).hexdigest())

    async def run(self, bus: Bus) -> None:
        """Report readings until canceled."""
        while True:
            await self._came.wait()
            self._came.clear()
            while self._waiting:
                await self._report(self._waiting.popleft(), bus)

    async def _report(self, reading: GuidanceRead, bus: Bus) -> None:
        try:
            await bus.request(reading)
        except BusError as error:
            _log.info("cannot report that %s was read: %s", reading.id, error)

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

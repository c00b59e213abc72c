"""The task of an agent, asked over the bus, and what it has read."""

import asyncio
import hashlib
import logging
from collections import deque
from collections.abc import Iterable
from typing import Final

from symposium.bus.endpoint import Bus
from symposium.bus.errors import BusError
from symposium.bus.messages.agents import GuidanceRead, TaskspaceInfo, TaskspaceState
from symposium.documents.boot import TaskContext
from symposium.documents.guidance import GuidanceText
from symposium.mcp_server.location import AgentLocation, written_down

LOOKUP_TIMEOUT: Final = 0.1
"""Seconds for the daemon: a prompt is to be there within 200 ms whether or not it answers."""

_log = logging.getLogger(__name__)


async def look_up(
    standing: AgentLocation, bus: Bus, *, patience: float = LOOKUP_TIMEOUT
) -> TaskContext | None:
    """The agent's current task; None outside a taskspace, or if it is unknown."""
    if not standing.is_in_taskspace:
        return None
    request = TaskspaceState(project_path=standing.project, taskspace_uuid=standing.taskspace)
    try:
        async with asyncio.timeout(patience):
            return _context(await bus.request(request))
    except TimeoutError:
        _log.info("the daemon did not say within %g s what the taskspace is", patience)
    except BusError as error:
        _log.info("what the taskspace is comes from its file: %s", error)
    return written_down(standing)


async def keep_collaborator(
    standing: AgentLocation, bus: Bus, task: TaskContext | None, asked: str | None
) -> None:
    """Remember whom the user asked for, so that the next agent here is asked for the same.

    Not while the initial prompt waits: every change of a taskspace ends it (seed 000).
    """
    if not asked or task is None or task.initial_prompt or task.collaborator == asked:
        return
    request = TaskspaceState(
        project_path=standing.project, taskspace_uuid=standing.taskspace, collaborator=asked
    )
    try:
        await bus.request(request, patience=LOOKUP_TIMEOUT)
    except BusError as error:
        _log.info("the collaborator is not remembered: %s", error)


def _context(info: TaskspaceInfo) -> TaskContext:
    return TaskContext(info.name, info.description, info.initial_prompt, info.collaborator)


MAX_WAITING: Final = 100
"""Readings that wait for a daemon; the oldest are dropped."""


class Readings:
    """Takes what was read at once, and reports it when a daemon is there.

    Args:
        standing: where the agent is; outside a taskspace nothing is reported.
    """

    def __init__(self, standing: AgentLocation) -> None:
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

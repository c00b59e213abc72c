"""Look up the agent's task: ask the daemon briefly, else read it from disk."""

import asyncio
import logging
from typing import Final

from symposium.bus.errors import BusError
from symposium.bus.messages.agents import TaskspaceInfo, TaskspaceState
from symposium.documents.boot import TaskContext
from symposium.mcp_server.bus_port import Bus
from symposium.mcp_server.detection import Standing, written_down

PATIENCE: Final = 0.1
"""Seconds for the daemon: a prompt is to be there within 200 ms whether or not it answers."""

_log = logging.getLogger(__name__)


async def look_up(
    standing: Standing, bus: Bus, *, patience: float = PATIENCE
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
    standing: Standing, bus: Bus, task: TaskContext | None, asked: str | None
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
        await bus.request(request, patience=PATIENCE)
    except BusError as error:
        _log.info("the collaborator is not remembered: %s", error)


def _context(info: TaskspaceInfo) -> TaskContext:
    return TaskContext(info.name, info.description, info.initial_prompt, info.collaborator)

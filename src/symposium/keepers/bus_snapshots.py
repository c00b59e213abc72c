"""Keeps the worktree of a taskspace around tool calls: the daemon does it, and is asked here."""

import asyncio
import logging
from typing import Final, Self

from symposium.bus.client import BusClient, ClientSettings, Identity
from symposium.bus.envelope import Sender
from symposium.bus.errors import BusError
from symposium.bus.messages.snapshot_taskspace import SnapshotTaskspace
from symposium.bus.roles import Role
from symposium.bus.starting import DaemonOptions

PATIENCE: Final = 30.0
"""Seconds that a tool call waits at most for the worktree to be kept."""

_log = logging.getLogger(__name__)


def keepers_bus(taskspace: str, worktree: str) -> BusClient:
    """The way to the daemon, which is started if none runs, whenever that may be."""
    identity = Identity(Role.HOST, "keeper", Sender(worktree, taskspace, None))
    return BusClient(identity, settings=ClientSettings(DaemonOptions()))


class BusSnapshots:
    """Asks for snapshots of one taskspace.

    What is asked for while one is being taken becomes one more: it holds everything since.

    Args:
        taskspace: its id.
        bus: the way to the daemon; entered here.
    """

    def __init__(self, taskspace: str, bus: BusClient) -> None:
        self._taskspace = taskspace
        self._bus = bus
        self._wanted = asyncio.Event()
        self._reason = ""
        self._tasks = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        """Begin."""
        await self._bus.__aenter__()
        await self._tasks.__aenter__()
        self._worker = self._tasks.create_task(self._work())
        return self

    async def __aexit__(self, *error: object) -> None:
        """End; what was asked for has been done or given up."""
        self._worker.cancel()
        await self._tasks.__aexit__(None, None, None)
        await self._bus.__aexit__(None, None, None)

    def soon(self, reason: str) -> None:
        """Keep the worktree as it is now, without holding up the agent."""
        self._reason = reason
        self._wanted.set()

    async def keep(self, reason: str) -> None:
        """Keep the worktree as it is now, and return when that is done or cannot be."""
        message = SnapshotTaskspace(taskspace_uuid=self._taskspace, reason=reason)
        try:
            await self._bus.request(message, patience=PATIENCE)
        except BusError as error:
            _log.warning("The worktree could not be kept: %s", error)

    async def _work(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            await self.keep(self._reason)

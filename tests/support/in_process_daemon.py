"""A daemon in the process of the test, with one part."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from symposium.bus.client import ClientSettings
from symposium.bus.connect import DaemonAddress, DaemonOptions, dial_running
from symposium.daemon.instance_lock import acquire_instance_lock, starting
from symposium.daemon.part import Part
from symposium.daemon.server import Daemon, DaemonConfig


@asynccontextmanager
async def daemon_of(part: Part, folder: Path) -> AsyncGenerator[ClientSettings]:
    """How clients connect to a daemon that runs this part."""
    place = DaemonAddress(folder / "run" / "s", folder / "log")
    with starting(place):
        acquire_instance_lock(place)
        daemon = Daemon(DaemonConfig(place, DaemonOptions(place.socket), {"part": part}))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(daemon.run())
        try:
            yield ClientSettings(DaemonOptions(place.socket), dial_running)
        finally:
            daemon.stop()

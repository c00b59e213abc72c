"""Daemon with one part, in the process of the test."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from symposium.bus.client import ClientSettings
from symposium.bus.daemon_options import DaemonOptions
from symposium.bus.daemon_start import DaemonAddress, dial_running
from symposium.daemon.instance_lock import acquire_instance_lock, starting
from symposium.daemon.part import Part
from symposium.daemon.server import Daemon, DaemonConfig


@asynccontextmanager
async def daemon_of(part: Part, folder: Path) -> AsyncGenerator[ClientSettings]:
    """Run this part in a daemon; return the way for clients to connect."""
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

"""A daemon in the process of the test, with one part."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from symposium.bus.client import ClientSettings
from symposium.bus.connect import DaemonOptions, MeetingPlace, dial_running
from symposium.daemon.claim import claim, starting
from symposium.daemon.daemon import Daemon, Setting
from symposium.daemon.part import Part


@asynccontextmanager
async def daemon_of(part: Part, folder: Path) -> AsyncGenerator[ClientSettings]:
    """How clients connect to a daemon that runs this part."""
    place = MeetingPlace(folder / "run" / "s", folder / "log")
    with starting(place):
        claim(place)
        daemon = Daemon(Setting(place, DaemonOptions(place.socket), {"part": part}))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(daemon.run())
        try:
            yield ClientSettings(DaemonOptions(place.socket), dial_running)
        finally:
            daemon.stop()

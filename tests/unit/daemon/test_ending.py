"""The stop of the daemon, and its cache of canonical paths."""

import asyncio
from pathlib import Path

import pytest

from symposium.bus.daemon_options import DaemonOptions
from symposium.bus.daemon_start import DaemonAddress
from symposium.bus.handlers import HandlerTable
from symposium.daemon.instance_lock import acquire_instance_lock, starting
from symposium.daemon.part import LocalPeer
from symposium.daemon.server import Daemon, DaemonConfig, RealPaths


class Stubborn:
    """A part that does not stop when it is canceled, until it is released."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.released = asyncio.Event()

    def answers(self) -> HandlerTable:
        return HandlerTable()

    async def run(self, bus: LocalPeer) -> None:
        del bus
        self.begun.set()
        while not self.released.is_set():
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                continue

    def is_busy(self) -> bool:
        return False


@pytest.mark.requirement("daemon.stop-bounded")
async def test_daemon_exits_and_names_a_part_that_does_not_stop(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place, part = DaemonAddress(tmp_path / "run" / "s", tmp_path / "log"), Stubborn()
    with starting(place):
        acquire_instance_lock(place)
        options = DaemonOptions(place.socket, None, 30)
        daemon = Daemon(
            DaemonConfig(place, options, {"slow": part}, grace=0.01, abandon=part.released.set)
        )
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(daemon.run())
        await part.begun.wait()
        daemon.stop()

    assert "exiting although slow did not stop within 0.01 s" in caplog.text


@pytest.mark.requirement("daemon.paths-fresh")
def test_canonical_path_follows_a_changed_link(tmp_path: Path) -> None:
    now = [0.0]
    canonical = RealPaths(lambda: now[0])
    link = tmp_path / "link"
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    link.symlink_to("one")
    before = canonical(str(link))
    link.unlink()
    link.symlink_to("two")
    now[0] = 3.0

    assert before is not None
    assert before[-1] == "one"
    assert canonical(str(link)) == (*before[:-1], "two")

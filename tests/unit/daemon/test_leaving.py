"""A daemon that exits when idle does not drop a client that connects at that moment."""

import asyncio
import os
import socket
from pathlib import Path

import pytest
from tests.support.event_listener import Mailbox

from peerwire.transports.unix import connect_unix
from symposium.bus.daemon_options import DaemonOptions
from symposium.bus.daemon_start import DaemonAddress
from symposium.bus.errors import BusError
from symposium.bus.handlers import HandlerTable
from symposium.daemon import server
from symposium.daemon.instance_lock import (
    RunningError,
    acquire_instance_lock,
    remove_stale,
    starting,
)
from symposium.daemon.part import LocalPeer
from symposium.daemon.server import Daemon, DaemonConfig


class Clock:
    """A clock that tests advance."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def place_in(folder: Path) -> DaemonAddress:
    return DaemonAddress(folder / "run" / "s", folder / "log")


def made(place: DaemonAddress, clock: Clock) -> Daemon:
    with starting(place):
        acquire_instance_lock(place)
        return Daemon(DaemonConfig(place, DaemonOptions(place.socket, None, 30), {}, clock))


@pytest.mark.requirement("daemon.idle")
async def test_client_in_the_accept_queue_keeps_the_daemon_running(tmp_path: Path) -> None:
    place, clock = place_in(tmp_path), Clock()
    daemon = made(place, clock)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(daemon.run())
        clock.now = 31
        # In the kernel's queue: the loop has not run since, so it is not accepted yet.
        visitor = connect_unix(place.socket)
        assert not daemon.leave()
        assert place.socket.exists()
        assert len(daemon.board.broker.peers) == 2, "itself and the visitor"
        visitor.close()
        daemon.stop()
        await running

    assert not place.socket.exists()


class Polled:
    """A part that reports each time when the daemon asks whether it is busy."""

    def __init__(self) -> None:
        self.asked = Mailbox[None]()

    def answers(self) -> HandlerTable:
        return HandlerTable()

    async def run(self, bus: LocalPeer) -> None:
        del bus
        await asyncio.Event().wait()

    def is_busy(self) -> bool:
        self.asked.add(None)
        return False


@pytest.mark.requirement("daemon.idle")
async def test_daemon_is_idle_only_after_its_last_client_disconnected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "POLL_INTERVAL", 0.001)
    place, clock, part = place_in(tmp_path), Clock(), Polled()
    with starting(place):
        acquire_instance_lock(place)
        config = DaemonConfig(place, DaemonOptions(place.socket, None, 30), {"part": part}, clock)
        daemon = Daemon(config)
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(daemon.run())
        visitor = connect_unix(place.socket)
        while len(daemon.board.broker.peers) < 2:
            await part.asked.next()
        clock.now = 31
        for _ in range(3):
            await part.asked.next()
        was_running = not running.done() and place.socket.exists()
        visitor.close()
        while len(daemon.board.broker.peers) > 1:
            await part.asked.next()
        clock.now = 62
        await running

    assert was_running
    assert not place.socket.exists()


@pytest.mark.requirement("daemon.idle", "daemon.one")
async def test_idle_daemon_removes_its_socket_so_that_another_can_start(
    tmp_path: Path,
) -> None:
    place, clock = place_in(tmp_path), Clock()
    daemon = made(place, clock)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(daemon.run())
        assert daemon.leave()
        assert not place.socket.exists()
        daemon.stop()
        await running


@pytest.mark.requirement("daemon.one")
async def test_second_daemon_is_rejected_while_one_listens(tmp_path: Path) -> None:
    place, clock = place_in(tmp_path), Clock()
    daemon = made(place, clock)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(daemon.run())
        with starting(place), pytest.raises(RunningError):
            acquire_instance_lock(place)
        place.socket.unlink()
        with (
            starting(place),
            pytest.raises(BusError, match=r"runs .* but its socket .* is missing"),
        ):
            acquire_instance_lock(place)
        daemon.stop()
        await running


@pytest.mark.requirement("daemon.stale")
async def test_socket_of_another_daemon_is_not_removed(tmp_path: Path) -> None:
    place, clock = place_in(tmp_path), Clock()
    daemon = made(place, clock)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(daemon.run())
        place.socket.unlink()
        place.socket.write_text("another daemon's", encoding="utf-8")
        assert daemon.leave(), "the daemon is unreachable"
        daemon.stop()
        await running

    assert place.socket.exists()


@pytest.mark.requirement("daemon.stale")
@pytest.mark.skipif(os.getuid() != 0, reason="only root can play another user")
def test_socket_of_another_user_is_rejected_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    os.chown(path, 12345, -1)

    with pytest.raises(BusError, match="belongs to user 12345"):
        remove_stale(path)
    assert path.is_socket()

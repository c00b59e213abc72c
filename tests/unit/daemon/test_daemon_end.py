"""Status of a daemon, and what its clients get when it stops."""

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from symposium.bus.client import HEARTBEAT
from symposium.bus.daemon_options import DaemonOptions
from symposium.bus.daemon_start import DaemonAddress
from symposium.bus.envelope import Sender, envelope_of, write_envelope
from symposium.bus.messages.broker import PROTOCOL, DaemonStatus, Hello
from symposium.bus.peers import WINDOW_SECONDS
from symposium.bus.protocol import BusMessage, Role
from symposium.daemon.instance_lock import acquire_instance_lock, starting
from symposium.daemon.server import Daemon, DaemonConfig


class Client:
    """A connection, with the lines that it has received."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def say(self, message: BusMessage) -> None:
        self._writer.write(write_envelope(envelope_of(message, Sender("/"))) + b"\n")

    async def next(self) -> Any:
        return json.loads(await self._reader.readline())

    async def rest(self) -> list[str]:
        """The types of all messages until the connection ends."""
        lines = (await self._reader.read()).splitlines()
        self._writer.close()
        return [json.loads(line)["type"] for line in lines]


async def joined(path: Path, role: Role, *subscribes: str) -> Client:
    client = Client(*await asyncio.open_unix_connection(path))
    hello = Hello(protocol=PROTOCOL, role=role, name="one", subscribes=frozenset(subscribes))
    client.say(hello)
    assert (await client.next())["payload"]["success"]
    return client


@pytest.mark.requirement("daemon.term", "daemon.status-rows")
async def test_daemon_says_all_about_itself_and_ends_every_connection_when_it_stops(
    tmp_path: Path,
) -> None:
    place, compat = DaemonAddress(tmp_path / "run" / "s", tmp_path / "log"), tmp_path / "run" / "c"
    begun = time.time()
    with starting(place):
        acquire_instance_lock(place)
        daemon = Daemon(DaemonConfig(place, DaemonOptions(place.socket, compat, 30), {}))
    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(daemon.run())
        old = Client(*await asyncio.open_unix_connection(compat))
        editor = await joined(place.socket, Role.EDITOR, "reload_window")
        cli = await joined(place.socket, Role.CLI)
        cli.say(DaemonStatus())
        data = (await cli.next())["payload"]["data"]
        daemon.stop()
        ends = [await each.rest() for each in (editor, cli, old)]
        await running

    assert begun <= data.pop("started") <= time.time()
    assert data.pop("memory") > 1 << 20
    assert data == {
        "pid": os.getpid(),
        "protocol": PROTOCOL,
        "socket": str(place.socket),
        "compat_socket": str(compat),
        "connections": 3,
        "open_requests": 1,
        "messages": 3,
        "backlog": 0,
        "handles": ["daemon_status", "stop_daemon"],
        "parts": [],
        "cuts": [],
        "latencies": [],
    }
    assert ends == [["reload_window"], [], ["reload_window"]]
    assert [path.exists() for path in (place.socket, compat)] == [False, False]


@pytest.mark.requirement("bus.presence")
def test_window_counts_as_open_when_one_heartbeat_is_late() -> None:
    assert HEARTBEAT == 30
    assert 2 * HEARTBEAT < WINDOW_SECONDS <= 4 * HEARTBEAT

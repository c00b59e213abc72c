"""A thousand clients, one of which never reads: the cost for the others and the daemon."""

import asyncio
import ctypes
import json
import os
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from tests.support.daemons import DaemonFolder, daemon_folder

from peerwire.jsonrpc.transport import OversizedLine
from peerwire.transports.unix import connect_unix
from symposium.bus.messages.broker import DaemonStatus
from symposium.bus.protocol import Role
from symposium.daemon.connection import CLIENT_BACKLOG

pytestmark = pytest.mark.timeout(240)

CLIENTS = 1000
ROUNDS = 30

RETURNS_MEMORY = hasattr(ctypes.CDLL(None), "malloc_trim")

GROWTH = CLIENT_BACKLOG if RETURNS_MEMORY else 2 * CLIENT_BACKLOG
"""Bytes by which the daemon may grow for one reader that has stopped and was disconnected."""

SENDER = '"sender":{"workingDirectory":"/"}'


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[DaemonFolder]:
    async with daemon_folder(tmp_path) as found:
        yield found


class Listener:
    """One client: counts the messages, or reads nothing."""

    def __init__(self, path: Path, name: str, subscribes: Sequence[str] = ("polo",)) -> None:
        self.received = 0
        self.connection = ""
        self.notice: str | None = None
        self.over = asyncio.Event()
        self.welcomed = asyncio.Event()
        self.all_received = asyncio.Event()
        self.transport = connect_unix(path)
        self.transport.start(self)
        payload = {"protocol": 2, "role": "cli", "name": name, "subscribes": list(subscribes)}
        payload["pid"] = os.getpid()
        hello = f'{{"type":"hello","id":"h",{SENDER},"payload":{json.dumps(payload)}}}'
        self.transport.send(hello.encode())

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        for line in lines:
            assert isinstance(line, bytes)
            message = json.loads(line)
            if message["type"] == "polo":
                self.received += 1
                if self.received == ROUNDS:
                    self.all_received.set()
            elif not self.connection:
                self.connection = message["payload"]["data"]["connection"]
                self.notice = message["payload"]["data"].get("previous_end")
                self.welcomed.set()

    def writing_paused(self) -> None:
        """Continue: it sends little."""

    def writing_resumed(self) -> None:
        """Continue."""

    def ended(self, error: Exception | None) -> None:
        del error
        self.over.set()

    def polo(self, to: str = "", pad: int = 0) -> None:
        """Announce the time."""
        address = f'"to":{{"connection":"{to}"}},' if to else ""
        body = f'"payload":{{"pad":"{"x" * pad}"}}'
        self.transport.send(
            f'{{"type":"polo","id":"{time.monotonic_ns()}",{address}{SENDER},{body}}}'.encode()
        )


@pytest.mark.requirement("bus.load", "bus.slow-reader")
async def test_stopped_reader_costs_the_others_nothing(home: DaemonFolder) -> None:
    await home.start()
    listeners = [Listener(home.socket, f"n{number}") for number in range(CLIENTS - 1)]
    stopped = Listener(home.socket, "stopped")
    for each in (*listeners, stopped):
        await each.welcomed.wait()
    publisher = Listener(home.socket, "publisher", ())
    await publisher.welcomed.wait()
    async with home.client(Role.CLI) as cli:
        before = await cli.request(DaemonStatus())
        stopped.transport.pause_reading()
        for _ in range(ROUNDS):
            # Addressed: enough to take the stopped reader over its limit before the end.
            publisher.polo(stopped.connection, CLIENT_BACKLOG // (ROUNDS - 10))
            publisher.polo(pad=800)
            await publisher.transport.drain()
        for each in listeners:
            await each.all_received.wait()
        after = await cli.request(DaemonStatus())
        stopped.transport.resume_reading()
        await stopped.over.wait()

        assert sum(each.received for each in listeners) == ROUNDS * (CLIENTS - 1)
        assert after.memory - before.memory < GROWTH
        assert after.connections == before.connections - 1
        (cut,) = after.cuts
        assert cut.name == "stopped"
        assert "backlog of " in cut.reason

    back = Listener(home.socket, "stopped")
    await back.welcomed.wait()
    assert back.notice == cut.reason, "it learns why when it comes back"
    for each in (*listeners, publisher, stopped, back):
        each.transport.close()

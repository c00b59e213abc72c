"""Slow clients: their total backlog is limited, and the slowest is disconnected."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.in_process_daemon import daemon_of

from peerwire.transports.fd import FdTransport
from peerwire.transports.unix import serve_unix
from symposium.bus.client import BusClient, Identity
from symposium.bus.envelope import Sender
from symposium.bus.handlers import HandlerTable
from symposium.bus.messages.broker import DaemonStatus
from symposium.bus.protocol import Role
from symposium.daemon import connection
from symposium.daemon.connection import BacklogLimiter, DaemonLink, Lines
from symposium.daemon.part import LocalPeer

MB = 1024 * 1024

LINE: Final = 32 * 1024
"""Bytes of one message of a flood; less than the limit of a stream's line."""


class Owner:
    """An owner that ignores the events of a link."""

    def received(self, link: DaemonLink, lines: Lines) -> None:
        del link, lines

    def slow(self, link: DaemonLink) -> None:
        del link

    def quick(self, link: DaemonLink) -> None:
        del link

    def gone(self, link: DaemonLink) -> None:
        del link


class Clients:
    """Clients that read nothing."""

    def __init__(self, path: Path, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._path = path
        self._came: list[FdTransport] = []
        self._has_come = asyncio.Event()
        listener = serve_unix(path, self._take)
        stack.callback(listener.close)

    def _take(self, transport: FdTransport, uid: int) -> None:
        del uid
        self._came.append(transport)
        self._has_come.set()

    async def slow(self, name: str, waiting: int) -> DaemonLink:
        """Return a connection with this backlog, in addition to the kernel's buffer."""
        client = self._stack.enter_context(socket.socket(socket.AF_UNIX))
        client.connect(str(self._path))
        self._has_come.clear()
        if not self._came:
            await self._has_come.wait()
        link = DaemonLink(name, self._came.pop(0), Owner(), lambda _: None)
        self._stack.callback(link.transport.close)
        link.start()
        for _ in range(5):
            # The kernel accepts some of it meanwhile.
            while link.transport.backlog < waiting:
                link.transport.send(b"x" * 1023)
            await asyncio.sleep(0)
        return link


@pytest.fixture
async def clients(tmp_path: Path) -> AsyncGenerator[Clients]:
    async with AsyncExitStack() as stack:
        yield Clients(tmp_path / "s", stack)


@pytest.mark.requirement("daemon.pressure-total")
async def test_slowest_clients_are_disconnected_until_the_total_is_within_the_limit(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "CLIENT_BACKLOG", MB)
    monkeypatch.setattr(connection, "TOTAL_BACKLOG", 2 * MB)
    cut: list[tuple[str, str]] = []

    def end(link: DaemonLink, reason: str) -> None:
        cut.append((link.name, reason))
        watched.falls(link)

    watched = BacklogLimiter(end)
    sizes = {"little": 0.5, "most": 0.9, "some": 0.7}
    for name, size in sizes.items():
        watched.rises(await clients.slow(name, round(size * MB)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    assert [name for name, _ in cut] == ["most"]
    assert "total backlog" in cut[0][1]
    assert MB < watched.backlog <= 2 * MB


@pytest.mark.requirement("daemon.pressure-total")
async def test_client_with_too_large_a_backlog_is_disconnected_alone(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "CLIENT_BACKLOG", MB)
    cut: list[str] = []
    watched = BacklogLimiter(lambda link, reason: cut.append(f"{link.name}: {reason}"))
    for name, size in (("slow", MB // 2), ("slower", 2 * MB)):
        watched.rises(await clients.slow(name, size))
    await asyncio.sleep(0)

    (told,) = cut
    assert told.startswith("slower: ")
    assert told.startswith("slower: backlog of ")


class Program:
    """A client of the daemon on a real socket that reads only on request."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.connection = ""
        self.sent = 0

    @classmethod
    async def join(cls, path: Path, name: str) -> "Program":
        made = cls(*await asyncio.open_unix_connection(path))
        payload = {"protocol": 2, "role": "cli", "name": name, "subscribes": ["polo"]}
        made.write("hello", payload)
        made.connection = (await made.read())["payload"]["data"]["connection"]
        return made

    def write(self, kind: str, payload: dict[str, Any], to: str = "") -> None:
        told = {"type": kind, "id": f"{kind}-{self.sent}", "sender": {"workingDirectory": "/"}}
        address = {"to": {"connection": to}} if to else {}
        self._writer.write(json.dumps({**told, **address, "payload": payload}).encode() + b"\n")
        self.sent += 1

    async def flood(self, target: "Program", size: int) -> None:
        """Send this many bytes to a client, line by line."""
        for _ in range(size // LINE):
            self.write("polo", {"pad": "x" * LINE}, target.connection)
            await self._writer.drain()

    async def read(self) -> dict[str, Any]:
        """Return the next message, or an empty one at the end of the connection."""
        line = await self._reader.readline()
        return json.loads(line) if line.endswith(b"\n") else {}

    async def read_all(self) -> int:
        """Read until a short line; return the number of messages, or -1 at a disconnect."""
        count = 0
        while message := await self.read():
            if message["type"] == "polo":
                if not message["payload"]["pad"]:
                    return count
                count += 1
        return -1

    def close(self) -> None:
        self._writer.close()


@pytest.mark.requirement("daemon.pressure-total", "daemon.pressure-total-wired")
async def test_daemon_disconnects_the_slowest_client_when_the_total_backlog_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "CLIENT_BACKLOG", 4 * MB)
    monkeypatch.setattr(connection, "TOTAL_BACKLOG", 8 * MB)
    who = Identity(Role.CLI, "status", Sender("/"))
    sizes = {"little": 2 * MB, "most": 7 * MB // 2, "some": 3 * MB, "fourth": 5 * MB // 2}
    async with daemon_of(Idle(), tmp_path) as settings, BusClient(who, settings=settings) as bus:
        path = settings.daemon.socket
        assert path is not None
        publisher = await Program.join(path, "publisher")
        programs = {name: await Program.join(path, name) for name in sizes}
        for name, size in sizes.items():
            await publisher.flood(programs[name], size)
        for each in programs.values():
            publisher.write("polo", {"pad": ""}, each.connection)
        # Everything written before this has been routed before it.
        publisher.write("daemon_status", {})
        while (await publisher.read()).get("type") != "response":
            pass
        cuts = (await bus.request(DaemonStatus())).cuts
        read = {name: await each.read_all() for name, each in programs.items()}
        for each in (publisher, *programs.values()):
            each.close()

    assert [each.name for each in cuts] == ["most"]
    assert "total backlog" in cuts[0].reason
    expected = {name: size // LINE for name, size in sizes.items()}
    assert read == {**expected, "most": -1}


class Idle:
    """A part of the daemon without handlers."""

    def answers(self) -> HandlerTable:
        return HandlerTable()

    async def run(self, bus: LocalPeer) -> None:
        del bus
        await asyncio.Event().wait()

    def is_busy(self) -> bool:
        return False

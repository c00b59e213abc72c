"""Slow clients: what waits for all of them together is bounded, and the slowest goes."""

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
"""Bytes of one message of a flood; below the limit of a stream's line."""


class Owner:
    """Takes what a link tells."""

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
        """A connection for whose client so many bytes wait, besides what the kernel holds."""
        client = self._stack.enter_context(socket.socket(socket.AF_UNIX))
        client.connect(str(self._path))
        self._has_come.clear()
        if not self._came:
            await self._has_come.wait()
        link = DaemonLink(name, self._came.pop(0), Owner(), lambda _: None)
        self._stack.callback(link.transport.close)
        link.start()
        for _ in range(5):
            # The kernel takes some of it meanwhile.
            while link.transport.backlog < waiting:
                link.transport.send(b"x" * 1023)
            await asyncio.sleep(0)
        return link


@pytest.fixture
async def clients(tmp_path: Path) -> AsyncGenerator[Clients]:
    async with AsyncExitStack() as stack:
        yield Clients(tmp_path / "s", stack)


@pytest.mark.requirement("daemon.pressure-total")
async def test_of_several_slow_clients_the_slowest_is_cut_until_the_total_is_within_its_bound(
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
    assert "waited for all slow clients" in cut[0][1]
    assert MB < watched.backlog <= 2 * MB


@pytest.mark.requirement("daemon.pressure-total")
async def test_client_for_which_too_much_waits_is_cut_alone(
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
    assert told.endswith("bytes waited for it to read")


class Program:
    """A client of the daemon on a real socket; reads only when it is asked to."""

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
        """Send a client so many bytes, line by line."""
        for _ in range(size // LINE):
            self.write("polo", {"pad": "x" * LINE}, target.connection)
            await self._writer.drain()

    async def read(self) -> dict[str, Any]:
        """The next message; empty at the end of the connection."""
        line = await self._reader.readline()
        return json.loads(line) if line.endswith(b"\n") else {}

    async def read_all(self) -> int:
        """Read what was sent up to a short line; the number of messages, -1 if it was cut."""
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
async def test_daemon_cuts_the_slowest_client_when_too_much_waits_for_all_together(
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
        # Whatever was written before this was routed before it.
        publisher.write("daemon_status", {})
        while (await publisher.read()).get("type") != "response":
            pass
        cuts = (await bus.request(DaemonStatus())).cuts
        read = {name: await each.read_all() for name, each in programs.items()}
        for each in (publisher, *programs.values()):
            each.close()

    assert [each.name for each in cuts] == ["most"]
    assert "waited for all slow clients" in cuts[0].reason
    expected = {name: size // LINE for name, size in sizes.items()}
    assert read == {**expected, "most": -1}


class Idle:
    """A part of the daemon that answers nothing."""

    def answers(self) -> HandlerTable:
        return HandlerTable()

    async def run(self, bus: LocalPeer) -> None:
        del bus
        await asyncio.Event().wait()

    def is_busy(self) -> bool:
        return False

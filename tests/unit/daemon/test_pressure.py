"""Slow clients: what waits for all of them together is bounded, and the slowest goes."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from peerwire.transports.fd import FdTransport
from peerwire.transports.unix import serve_unix
from symposium.daemon import pressure
from symposium.daemon.link import Lines, Link
from symposium.daemon.pressure import Pressure

MB = 1024 * 1024


class Owner:
    """Takes what a link tells."""

    def received(self, link: Link, lines: Lines) -> None:
        del link, lines

    def slow(self, link: Link) -> None:
        del link

    def quick(self, link: Link) -> None:
        del link

    def gone(self, link: Link) -> None:
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

    async def slow(self, name: str, waiting: int) -> Link:
        """A connection for whose client so many bytes wait, besides what the kernel holds."""
        client = self._stack.enter_context(socket.socket(socket.AF_UNIX))
        client.connect(str(self._path))
        self._has_come.clear()
        if not self._came:
            await self._has_come.wait()
        link = Link(name, self._came.pop(0), Owner(), lambda _: None)
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
    monkeypatch.setattr(pressure, "CLIENT_BACKLOG", MB)
    monkeypatch.setattr(pressure, "TOTAL_BACKLOG", 2 * MB)
    cut: list[tuple[str, str]] = []

    def end(link: Link, reason: str) -> None:
        cut.append((link.name, reason))
        watched.falls(link)

    watched = Pressure(end)
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
    monkeypatch.setattr(pressure, "CLIENT_BACKLOG", MB)
    cut: list[str] = []
    watched = Pressure(lambda link, reason: cut.append(f"{link.name}: {reason}"))
    for name, size in (("slow", MB // 2), ("slower", 2 * MB)):
        watched.rises(await clients.slow(name, size))
    await asyncio.sleep(0)

    (told,) = cut
    assert told.startswith("slower: ")
    assert told.endswith("bytes waited for it to read")

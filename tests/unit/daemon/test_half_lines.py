"""Unfinished lines: limited in bytes for all clients, and in time."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest

from peerwire.transports.fd import FdTransport
from symposium.bus.broker import Broker
from symposium.bus.envelope import MAX_LINE
from symposium.bus.peers import SocketKind
from symposium.daemon import connection, connection_table
from symposium.daemon.connection_table import ConnectionTable

HELLO = (
    b'{"type":"hello","id":"1","sender":{"workingDirectory":"/w","taskspaceUuid":null,'
    b'"shellPid":null},"payload":{"protocol":2,"role":"app","name":"a"}}\n'
)


@asynccontextmanager
async def board() -> AsyncGenerator[ConnectionTable, None]:
    loop = asyncio.get_running_loop()
    made = ConnectionTable(Broker(loop.time), lambda _: None)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(made.run())
        yield made
        running.cancel()


def connect(to: ConnectionTable) -> socket.socket:
    ours, theirs = socket.socketpair()
    fd = theirs.detach()
    to.connect(FdTransport(fd, fd), SocketKind.BUS)
    ours.setblocking(False)  # noqa: FBT003 - the signature of socket
    return ours


@pytest.mark.requirement("daemon.term")
async def test_a_canceled_connection_table_closes_its_connections_and_ends_as_canceled() -> None:
    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        made = ConnectionTable(Broker(asyncio.get_running_loop().time), lambda _: None)
        running = tasks.create_task(made.run())
        with connect(made) as client:
            await asyncio.sleep(0)
            running.cancel()
            await until_cut(client)
        await asyncio.wait({running})

    assert running.cancelled()


async def until_cut(sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    try:
        while await loop.sock_recv(sock, 65536):
            pass
    except ConnectionResetError:
        pass


async def send(sock: socket.socket, data: bytes) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):
        await asyncio.get_running_loop().sock_sendall(sock, data)


@pytest.mark.requirement("bus.half-lines")
async def test_unfinished_lines_of_all_clients_share_one_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "TOTAL", 4 << 20)
    async with board() as made:
        clients = [connect(made) for _ in range(8)]
        for at, client in enumerate(clients):
            await send(client, HELLO + b'{"x":"' + b"x" * ((at + 1) << 18))
        async with asyncio.timeout(30):
            await until_cut(clients[-1])

        assert made.half_lines.total <= 4 << 20
        reasons = [cut.reason for cut in made.cuts]
        assert reasons
        assert all("unfinished line" in reason for reason in reasons)
        first = clients[0]
        await send(first, b'"}\n')
        data = b""
        async with asyncio.timeout(30):
            while b"bad_message" not in data:
                data += await asyncio.get_running_loop().sock_recv(first, 65536)
        for client in clients:
            client.close()


@pytest.mark.requirement("bus.half-lines")
async def test_unfinished_lines_of_exactly_the_limit_are_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    half = 30_000
    monkeypatch.setattr(connection, "TOTAL", 2 * half)
    async with board() as made:
        clients = [connect(made) for _ in range(3)]
        async with asyncio.timeout(30):
            for total, client in zip((half, 2 * half, None), clients, strict=True):
                await send(client, HELLO + b"x" * half)
                while made.half_lines.total != total and not made.cuts:  # noqa: ASYNC110 - there is no event
                    await asyncio.sleep(0)
            while len(made.cuts) == 1 and made.half_lines.total != 2 * half:  # noqa: ASYNC110 - the same
                await asyncio.sleep(0)

        assert len(made.cuts) == 1
        assert made.half_lines.total == 2 * half
        for client in clients:
            client.close()


@pytest.mark.requirement("bus.half-lines")
def test_one_line_of_the_maximum_length_is_accepted() -> None:
    assert 2 * MAX_LINE <= connection.TOTAL


@pytest.mark.requirement("bus.half-lines")
async def test_stalled_line_closes_only_its_own_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "IDLE_TIME", 0.2)
    monkeypatch.setattr(connection_table, "HELLO_TIME", 600.0)
    async with board() as made:
        whole, half = connect(made), connect(made)
        await send(whole, HELLO)
        await send(half, HELLO + b'{"x"')
        async with asyncio.timeout(30):
            await until_cut(half)

        assert [cut.reason for cut in made.cuts] == [
            "sent nothing for 0.2 s in the middle of a line"
        ]
        assert made.half_lines.total == 0
        await send(whole, b"x\n")
        data = b""
        async with asyncio.timeout(30):
            while b"bad_message" not in data:
                data += await asyncio.get_running_loop().sock_recv(whole, 65536)
        whole.close()
        half.close()


@pytest.mark.requirement("bus.half-lines")
async def test_finished_line_ends_its_deadline_and_each_unfinished_one_has_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "IDLE_TIME", 0.05)
    monkeypatch.setattr(connection_table, "HELLO_TIME", 600.0)
    async with asyncio.timeout(30), board() as made:
        finished, first, later = (connect(made) for _ in range(3))
        await send(finished, HELLO + b"x")
        await send(first, HELLO + b"xx")
        while made.half_lines.total < 3:  # noqa: ASYNC110 - there is no event
            await asyncio.sleep(0)
        await send(finished, b"\n")
        due = asyncio.get_running_loop().time() + 0.02
        while asyncio.get_running_loop().time() < due:  # noqa: ASYNC110 - the same
            await asyncio.sleep(0)
        await send(later, HELLO + b"xxxx")
        await until_cut(first)
        await until_cut(later)

        assert len(made.cuts) == 2
        assert made.half_lines.total == 0
        for client in (finished, first, later):
            client.close()

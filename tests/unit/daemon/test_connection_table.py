"""Clients that disconnect, and delivery inside the daemon."""

import asyncio
import os
import socket

import pytest
from tests.support.event_listener import Mailbox

from peerwire.transports.fd import FdTransport
from symposium.bus.broker import Broker
from symposium.bus.peers import SocketKind
from symposium.bus.routing import Deliver
from symposium.daemon.connection_table import ConnectionTable


@pytest.mark.requirement("daemon.idle", "bus.presence")
async def test_client_that_disconnects_is_forgotten_and_its_socket_closed() -> None:
    counts = Mailbox[int]()
    broker = Broker(asyncio.get_running_loop().time)
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        table = ConnectionTable(broker, counts.add)
        running = tasks.create_task(table.run())
        ours, theirs = socket.socketpair()
        fd = theirs.detach()
        table.connect(FdTransport(fd, fd), SocketKind.BUS)
        connected = (await counts.next(), len(broker.peers))
        ours.close()
        disconnected = (await counts.next(), len(broker.peers))
        for _ in range(5):
            await asyncio.sleep(0)
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)
        running.cancel()

    assert (connected, disconnected) == ((1, 1), (0, 0))


@pytest.mark.requirement("bus.subscriptions")
async def test_lines_for_the_daemon_itself_are_delivered_together() -> None:
    took: list[bytes] = []
    table = ConnectionTable(Broker(asyncio.get_running_loop().time), lambda _: None)
    table.enter("daemon", took.append, lambda _: None)
    table.enter("part", took.append, lambda _: None)
    daemon, part = ("daemon",), ("part",)
    table.carry_out([Deliver(daemon, b"one"), Deliver(daemon, b"two"), Deliver(part, b"three")])

    assert took == [b"one\ntwo", b"three"]

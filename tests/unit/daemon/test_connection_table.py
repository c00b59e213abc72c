"""Clients that disconnect, and delivery inside the daemon."""

import asyncio
import os
import socket
import time

import pytest
from tests.support.event_listener import Mailbox

from peerwire.transports.fd import FdTransport
from symposium.bus.broker import Broker
from symposium.bus.handlers import HandlerTable
from symposium.bus.messages.broker import PROTOCOL, Hello, Presence, WindowKind
from symposium.bus.peers import WINDOW_SECONDS, BusPeer, SocketKind
from symposium.bus.protocol import Role
from symposium.bus.routing import Deliver
from symposium.daemon.connection_table import ConnectionTable
from symposium.daemon.part import LocalPeer


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


@pytest.mark.requirement("bus.presence", "bus.window-registered")
async def test_windows_are_the_views_that_are_registered_or_still_send_heartbeats() -> None:
    table = ConnectionTable(Broker(asyncio.get_running_loop().time), lambda _: None)
    local = LocalPeer(table, HandlerTable())
    now = time.time()
    shown = Presence(kind=WindowKind.EDITOR)
    for name, presence, seen in (
        ("live", shown, now),
        ("silent", shown, now - WINDOW_SECONDS - 60),
        ("registered", None, 0.0),
        ("no view", None, 0.0),
    ):
        peer = BusPeer(name, SocketKind.BUS, now, name)
        peer.accept_hello(Hello(protocol=PROTOCOL, role=Role.EDITOR, name=name))
        peer.presence, peer.seen = presence, seen
        table.broker.peers.add(peer)
    local.register_window("registered", "t", "title")

    found = [(each.connection, each.taskspace_uuid) for each in local.windows()]
    assert found == [("live", None), ("registered", "t")]

"""Lines over Unix sockets: access, peer identity, and cleanup."""

import errno
import logging
import os
import resource
import socket
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from peerwire.testing import LineRecorder, everything_served
from peerwire.transports import unix
from peerwire.transports.fd import FdTransport
from peerwire.transports.unix import UnixListener, connect_unix, peer_uid, serve_unix


def open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


class Server:
    """Server at a path, and its visitors."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.came: list[tuple[FdTransport, LineRecorder, int]] = []
        self._recorder = LineRecorder()

    def serve(self, waiting: int = 5) -> UnixListener:
        return serve_unix(self.path, self._take, waiting=waiting)

    def _take(self, transport: FdTransport, uid: int) -> None:
        messages = LineRecorder()
        transport.start(messages)
        self.came.append((transport, messages, uid))
        self._recorder.lines_received([b"came"])

    async def visitors(self, count: int) -> list[tuple[FdTransport, LineRecorder, int]]:
        await self._recorder.received(count)
        return self.came


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Server]:
    before = open_descriptors()
    place = Server(tmp_path / "s")
    yield place
    for transport, _, _ in place.came:
        transport.close()
    assert open_descriptors() == before


@pytest.mark.requirement("process.unix-private")
async def test_lines_pass_both_ways_and_the_peer_is_known(place: Server) -> None:
    listener = place.serve()
    messages = LineRecorder()
    visitor = connect_unix(place.path)
    visitor.start(messages)
    visitor.send(b"question")
    ((host, received, uid),) = await place.visitors(1)
    host.send(b"answer")

    assert await received.received(1) == [b"question"]
    assert await messages.received(1) == [b"answer"]
    assert uid == os.getuid()
    listener.close()
    visitor.close()


@pytest.mark.requirement("process.unix-private")
async def test_only_the_same_user_may_connect(place: Server) -> None:
    before = os.umask(0)
    try:
        listener = place.serve()
    finally:
        os.umask(before)

    mode = place.path.lstat().st_mode

    listener.close()
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600


@pytest.mark.requirement("process.unix-connect")
async def test_connect_error_distinguishes_a_missing_file_from_a_missing_server(
    place: Server,
) -> None:
    with pytest.raises(FileNotFoundError):
        connect_unix(place.path)

    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(place.path))
    with pytest.raises(ConnectionRefusedError):
        connect_unix(place.path)


@pytest.mark.requirement("process.unix-connect")
async def test_connection_above_the_backlog_is_refused(place: Server) -> None:
    with socket.socket(socket.AF_UNIX) as busy:
        busy.bind(str(place.path))
        busy.listen(0)
        first = connect_unix(place.path)
        with pytest.raises(BlockingIOError):
            connect_unix(place.path)
        first.close()


@pytest.mark.requirement("process.unix-listen")
async def test_address_is_used_once(place: Server) -> None:
    listener = place.serve()

    with pytest.raises(OSError, match="in use") as failure:
        place.serve()

    assert failure.value.errno == errno.EADDRINUSE
    listener.close()


@pytest.mark.requirement("process.unix-listen")
async def test_too_long_path_is_named(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 108)
    for action in (lambda: connect_unix(path), Server(path).serve):
        with pytest.raises(OSError, match="bytes at most; choose a shorter directory") as failure:
            action()
        assert failure.value.filename == str(path)


@pytest.mark.requirement("process.unix-left-behind")
async def test_close_removes_the_file_and_keeps_the_connections(place: Server) -> None:
    listener = place.serve()
    messages = LineRecorder()
    visitor = connect_unix(place.path)
    visitor.start(messages)
    ((host, _, _),) = await place.visitors(1)

    listener.close()
    listener.close()

    assert not place.path.exists()
    host.send(b"still here")
    assert await messages.received(1) == [b"still here"]
    visitor.close()


@pytest.mark.requirement("process.unix-left-behind")
async def test_replaced_file_is_left_unchanged(place: Server) -> None:
    ours = place.serve()
    place.path.unlink()
    theirs = place.serve()

    ours.close()
    assert place.path.exists()

    theirs.close()
    place.path.touch()
    theirs.close()
    assert place.path.exists()


@pytest.mark.requirement("process.unix-listen")
async def test_many_clients_may_connect_at_once(place: Server) -> None:
    listener = place.serve(waiting=100)
    visitors = [connect_unix(place.path) for _ in range(100)]

    assert len(await place.visitors(100)) == 100
    for visitor in visitors:
        visitor.close()
    for _, messages, _ in place.came:
        assert await messages.end() is None
    listener.close()


@pytest.mark.requirement("process.unix-listen")
async def test_two_servers_may_wait_for_one_address(place: Server) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place.path))
        listener.settimeout(0)
        listener.listen()
        came: list[FdTransport] = []
        listeners = [
            UnixListener(listener.dup(), str(place.path), lambda who, _: came.append(who), 1)
            for _ in range(2)
        ]
    visitor = connect_unix(place.path)

    await everything_served()

    assert len(came) == 1
    for taken in (*listeners, *came):
        taken.close()
    visitor.close()


@pytest.mark.requirement("process.unix-scarce")
async def test_clients_wait_for_a_descriptor_when_none_is_left(
    place: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(unix, "RETRY", 0.01)
    listener = place.serve()
    visitor = connect_unix(place.path)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        while not caplog.records:
            await visitor.drain()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

    await place.visitors(1)
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
    visitor.close()
    listener.close()


@pytest.mark.requirement("process.unix-listen")
async def test_closed_listener_does_not_accept_again(
    place: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(unix, "RETRY", 0)
    listener = place.serve()
    visitor = connect_unix(place.path)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        while not caplog.records:
            await visitor.drain()
        listener.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    visitor.close()

    await everything_served()

    assert {record.levelno for record in caplog.records} == {logging.WARNING}


@pytest.mark.requirement("process.unix-scarce")
async def test_close_while_waiting_for_a_descriptor_works(
    place: Server, caplog: pytest.LogCaptureFixture
) -> None:
    listener = place.serve()
    visitor = connect_unix(place.path)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        while not caplog.records:
            await visitor.drain()
        for _ in range(20):
            await visitor.drain()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert len(caplog.records) == 1, "it spins"
    listener.close()
    visitor.close()

    await everything_served()

    assert place.came == []


@pytest.mark.requirement("process.unix-peer")
async def test_peer_without_credentials_is_refused(
    place: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    listener = place.serve()
    messages = LineRecorder()
    visitor = connect_unix(place.path)
    monkeypatch.setattr(sys, "platform", "plan9")

    visitor.start(messages)

    assert await messages.end() is None
    assert "unknown peer: [Errno 95] this system does not tell" in caplog.text
    assert place.came == []
    visitor.close()
    listener.close()


@pytest.mark.requirement("process.unix-peer")
def test_each_end_of_a_pair_knows_the_other() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert peer_uid(ours) == peer_uid(theirs) == os.getuid()


@pytest.mark.requirement("process.unix-left-behind")
async def test_listener_knows_whether_clients_can_reach_it(place: Server) -> None:
    listener = place.serve()
    assert listener.is_reachable()

    place.path.unlink()
    assert not listener.is_reachable()

    place.path.touch()
    assert not listener.is_reachable()
    listener.close()
    assert place.path.exists()

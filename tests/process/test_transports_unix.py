"""Lines over Unix sockets: who may come, who came, and what is left behind."""

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


class Place:
    """A path to meet at, and who came there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.came: list[tuple[FdTransport, LineRecorder, int]] = []
        self._told = LineRecorder()

    def serve(self, waiting: int = 5) -> UnixListener:
        return serve_unix(self.path, self._take, waiting=waiting)

    def _take(self, transport: FdTransport, uid: int) -> None:
        told = LineRecorder()
        transport.start(told)
        self.came.append((transport, told, uid))
        self._told.lines_received([b"came"])

    async def visitors(self, count: int) -> list[tuple[FdTransport, LineRecorder, int]]:
        await self._told.received(count)
        return self.came


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    before = open_descriptors()
    place = Place(tmp_path / "s")
    yield place
    for transport, _, _ in place.came:
        transport.close()
    assert open_descriptors() == before


@pytest.mark.requirement("process.unix-private")
async def test_lines_pass_both_ways_and_the_visitor_is_known(place: Place) -> None:
    listener = place.serve()
    told = LineRecorder()
    visitor = connect_unix(place.path)
    visitor.start(told)
    visitor.send(b"question")
    ((host, heard, uid),) = await place.visitors(1)
    host.send(b"answer")

    assert await heard.received(1) == [b"question"]
    assert await told.received(1) == [b"answer"]
    assert uid == os.getuid()
    listener.close()
    visitor.close()


@pytest.mark.requirement("process.unix-private")
async def test_only_our_user_may_come(place: Place) -> None:
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
async def test_who_knocks_where_nobody_is_learns_which_kind_of_nobody(place: Place) -> None:
    with pytest.raises(FileNotFoundError):
        connect_unix(place.path)

    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(place.path))
    with pytest.raises(ConnectionRefusedError):
        connect_unix(place.path)


@pytest.mark.requirement("process.unix-connect")
async def test_who_knocks_where_too_many_wait_is_not_kept(place: Place) -> None:
    with socket.socket(socket.AF_UNIX) as busy:
        busy.bind(str(place.path))
        busy.listen(0)
        first = connect_unix(place.path)
        with pytest.raises(BlockingIOError):
            connect_unix(place.path)
        first.close()


@pytest.mark.requirement("process.unix-listen")
async def test_a_place_is_taken_once(place: Place) -> None:
    listener = place.serve()

    with pytest.raises(OSError, match="in use") as failure:
        place.serve()

    assert failure.value.errno == errno.EADDRINUSE
    listener.close()


@pytest.mark.requirement("process.unix-listen")
async def test_a_path_that_is_too_long_is_named(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 108)
    for action in (lambda: connect_unix(path), Place(path).serve):
        with pytest.raises(OSError, match="bytes at most; choose a shorter directory") as failure:
            action()
        assert failure.value.filename == str(path)


@pytest.mark.requirement("process.unix-left-behind")
async def test_closing_removes_the_file_and_leaves_the_visitors(place: Place) -> None:
    listener = place.serve()
    told = LineRecorder()
    visitor = connect_unix(place.path)
    visitor.start(told)
    ((host, _, _),) = await place.visitors(1)

    listener.close()
    listener.close()

    assert not place.path.exists()
    host.send(b"still here")
    assert await told.received(1) == [b"still here"]
    visitor.close()


@pytest.mark.requirement("process.unix-left-behind")
async def test_a_file_that_is_not_ours_any_more_is_left_alone(place: Place) -> None:
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
async def test_many_may_come_at_once(place: Place) -> None:
    listener = place.serve(waiting=100)
    visitors = [connect_unix(place.path) for _ in range(100)]

    assert len(await place.visitors(100)) == 100
    for visitor in visitors:
        visitor.close()
    for _, told, _ in place.came:
        assert await told.end() is None
    listener.close()


@pytest.mark.requirement("process.unix-listen")
async def test_two_may_wait_at_one_door(place: Place) -> None:
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(place.path))
        door.settimeout(0)
        door.listen()
        came: list[FdTransport] = []
        listeners = [
            UnixListener(door.dup(), str(place.path), lambda who, _: came.append(who), 1)
            for _ in range(2)
        ]
    visitor = connect_unix(place.path)

    await everything_served()

    assert len(came) == 1
    for taken in (*listeners, *came):
        taken.close()
    visitor.close()


@pytest.mark.requirement("process.unix-scarce")
async def test_without_descriptors_left_visitors_wait_for_one(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
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
async def test_who_has_closed_does_not_ask_again(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
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
async def test_closing_while_waiting_for_a_descriptor_is_fine(
    place: Place, caplog: pytest.LogCaptureFixture
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
async def test_a_visitor_nobody_can_name_is_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    listener = place.serve()
    told = LineRecorder()
    visitor = connect_unix(place.path)
    monkeypatch.setattr(sys, "platform", "plan9")

    visitor.start(told)

    assert await told.end() is None
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
async def test_a_listener_knows_whether_clients_can_still_reach_it(place: Place) -> None:
    listener = place.serve()
    assert listener.is_reachable()

    place.path.unlink()
    assert not listener.is_reachable()

    place.path.touch()
    assert not listener.is_reachable()
    listener.close()
    assert place.path.exists()

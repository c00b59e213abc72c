"""A pipe is enlarged while a large line passes, and restored afterward."""

import fcntl
import os
import socket
from collections.abc import Iterator

import pytest

from peerwire.jsonrpc.transport import MAX_LINE, OversizedLine
from peerwire.testing import everything_served
from peerwire.transports.fd_streams import READ_SIZE, WIDE, WIDEN_ABOVE, FdReader, PipeSize

GET = getattr(fcntl, "F_GETPIPE_SZ", 0)
SET = getattr(fcntl, "F_SETPIPE_SZ", 0)

pytestmark = pytest.mark.skipif(not SET, reason="only Linux tells and sets the size of a pipe")


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def size(fd: int) -> int:
    return fcntl.fcntl(fd, GET)


@pytest.mark.requirement("process.pipe-room")
def test_a_pipe_is_wide_only_while_a_large_line_passes(pipe: tuple[int, int]) -> None:
    usual, room = size(pipe[0]), PipeSize(pipe[0])

    room.fit(WIDEN_ABOVE)
    assert size(pipe[0]) == usual
    room.fit(WIDEN_ABOVE + 1)
    assert size(pipe[0]) == WIDE
    room.fit(10)
    assert size(pipe[0]) == usual


@pytest.mark.requirement("process.pipe-room")
def test_pipe_that_another_process_made_smaller_is_restored_to_that_size(
    pipe: tuple[int, int],
) -> None:
    fcntl.fcntl(pipe[1], SET, 4096)
    room = PipeSize(pipe[1])

    room.fit(5 * WIDEN_ABOVE)
    room.fit(0)

    assert size(pipe[1]) == 4096


@pytest.mark.requirement("process.pipe-room")
def test_a_pipe_that_is_still_full_is_narrowed_when_it_has_been_read(pipe: tuple[int, int]) -> None:
    usual, room = size(pipe[0]), PipeSize(pipe[0])
    room.fit(5 * WIDEN_ABOVE)
    os.write(pipe[1], b"x" * 2 * usual)

    room.fit(0)
    assert size(pipe[0]) == WIDE
    os.read(pipe[0], 2 * usual)
    room.fit(0)
    assert size(pipe[0]) == usual


@pytest.mark.requirement("process.pipe-room")
def test_what_is_no_pipe_is_left_alone() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        room = PipeSize(ours.fileno())

        room.fit(5 * WIDEN_ABOVE)
        room.fit(0)

        ours.sendall(b"x")
        assert theirs.recv(1) == b"x"


@pytest.mark.requirement("process.pipe-room")
async def test_a_pipe_is_wide_from_the_first_read_without_the_end_of_a_line(
    pipe: tuple[int, int],
) -> None:
    usual = size(pipe[0])
    lines: list[bytes | OversizedLine] = []
    os.set_blocking(pipe[0], False)
    reader = FdReader(pipe[0], MAX_LINE)
    reader.start(lines.extend, lambda _: None)

    os.write(pipe[1], b"x" * (READ_SIZE - 1))
    await everything_served()
    assert (reader.unfinished, size(pipe[0])) == (READ_SIZE - 1, usual)
    os.write(pipe[1], b"x")
    await everything_served()
    assert (reader.unfinished, size(pipe[0])) == (READ_SIZE, WIDE)
    os.write(pipe[1], b"\n")
    await everything_served()

    assert (lines, size(pipe[0])) == ([b"x" * READ_SIZE], usual)
    reader.close()

"""Lines over descriptors: what pipes, files, sockets and terminals do that memory does not."""

import asyncio
import errno
import fcntl
import logging
import os
import socket
import tty
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from pathlib import Path

import pytest

from peerwire.jsonrpc.transport import HIGH_WATER, MAX_LINE, OversizedLine
from peerwire.testing import LineRecorder, everything_served, pipe_pair
from peerwire.transports.fd import FdTransport
from peerwire.transports.fd_streams import AT_ONCE, LAST_READ, READ_SIZE, FdReader


def open_descriptors() -> set[str]:
    return {str(path.resolve()) for path in Path("/dev/fd").iterdir()}


class Raw:
    """A transport that has started, and the bare other ends of its two pipes."""

    def __init__(self) -> None:
        read_fd, self.source = os.pipe()
        self.sink, write_fd = os.pipe()
        self.recorder = LineRecorder()
        self.transport = FdTransport(read_fd, write_fd)
        self.transport.start(self.recorder)

    def close_source(self) -> None:
        os.close(self.source)
        self.source = -1

    def close_sink(self) -> None:
        os.close(self.sink)
        self.sink = -1

    def close(self) -> None:
        self.transport.close()
        for fd in {self.source, self.sink} - {-1}:
            os.close(fd)


@pytest.fixture
async def raw() -> AsyncIterator[Raw]:
    before = open_descriptors()
    raw = Raw()
    yield raw
    raw.close()
    assert open_descriptors() == before


@pytest.fixture
async def recorder() -> LineRecorder:
    return LineRecorder()


# -- reading


@pytest.mark.requirement("jsonrpc.line-split-anywhere")
async def test_part_of_a_line_waits_for_the_rest(raw: Raw) -> None:
    os.write(raw.source, b'{"a"')
    await everything_served()
    assert raw.recorder.lines == []

    os.write(raw.source, b':1}\n{"b"')

    assert await raw.recorder.received(1) == [b'{"a":1}']


@pytest.mark.requirement("jsonrpc.line-partial-at-eof")
async def test_a_line_cut_off_by_the_end_is_logged_and_no_message(
    raw: Raw, caplog: pytest.LogCaptureFixture
) -> None:
    os.write(raw.source, b'{"a":1}\n{"b"')
    raw.close_source()

    assert await raw.recorder.end() is None
    assert raw.recorder.lines == [b'{"a":1}']
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert '{"b"' in caplog.text


@pytest.mark.requirement("process.fd-end")
@pytest.mark.parametrize("line", [b'{"a":1}', b'[{"a":1}]', b'{"a":1}\r'])
async def test_a_whole_message_needs_no_newline_at_the_end(raw: Raw, line: bytes) -> None:
    os.write(raw.source, line)
    raw.close_source()

    assert await raw.recorder.end() is None
    assert raw.recorder.lines == [line]


@pytest.mark.requirement("jsonrpc.line-over-limit-bounded")
async def test_overlong_line_that_the_end_cuts_is_still_reported(recorder: LineRecorder) -> None:
    ours, theirs = pipe_pair(limit=300)
    theirs.start(recorder)
    ours.start(LineRecorder())
    ours.send(b"x" * 1000)
    await ours.aclose()

    assert await recorder.end() is None
    assert recorder.lines == [OversizedLine(b"x" * 256, 300, b"x" * 256)]
    theirs.close()


@pytest.mark.requirement("jsonrpc.line-64-mib", "jsonrpc.line-over-limit-bounded")
async def test_64_mib_pass_and_a_byte_more_does_not(recorder: LineRecorder) -> None:
    ours, theirs = pipe_pair()
    ours.start(LineRecorder())
    theirs.start(recorder)
    longest = b"x" * MAX_LINE

    ours.send(longest)
    ours.send(longest + b"y")
    ours.send(b"next")

    over = OversizedLine(b"x" * 256, MAX_LINE, b"x" * 255 + b"y")
    assert await recorder.received(3) == [longest, over, b"next"]
    ours.close()
    theirs.close()


@pytest.mark.requirement("jsonrpc.close-read-error")
async def test_a_broken_read_is_no_clean_end(recorder: LineRecorder) -> None:
    ours, theirs = socket.socketpair()
    transport = FdTransport(fd := ours.detach(), fd)
    transport.start(recorder)
    transport.send(b"nobody reads this")
    await everything_served()
    theirs.close()

    error = await recorder.end()

    assert isinstance(error, OSError)
    assert error.errno == errno.ECONNRESET
    transport.close()


@pytest.mark.requirement("process.fd-end")
async def test_end_can_be_declared_while_another_process_holds_the_pipe(raw: Raw) -> None:
    os.write(raw.source, b"1\n2\n3")
    reason = OSError("it is over")

    raw.transport.finish_reading(reason)

    assert raw.recorder.ends == [reason]
    assert raw.recorder.lines == [b"1", b"2"]
    os.write(raw.source, b"4\n")
    raw.transport.finish_reading()
    raw.close_source()
    await everything_served()
    assert raw.recorder.ends == [reason]


@pytest.mark.requirement("process.fd-end")
async def test_a_called_end_takes_a_line_in_pieces(raw: Raw) -> None:
    lines = [b"x" * 200_000, b"y"]
    writer = FdTransport(os.open(os.devnull, os.O_RDONLY), os.dup(raw.source))
    raw.transport.pause_reading()
    fcntl.fcntl(raw.source, fcntl.F_SETPIPE_SZ, 1 << 20)
    writer.start(LineRecorder())
    for line in lines:
        writer.send(line)
    await writer.aclose()

    raw.transport.finish_reading()

    assert raw.recorder.lines == lines


@pytest.mark.requirement("process.fd-end")
async def test_a_called_end_is_bounded_and_sees_the_real_one(
    recorder: LineRecorder, tmp_path: Path
) -> None:
    big, small = tmp_path / "big", tmp_path / "small"
    big.write_bytes(b"1234567\n" * (LAST_READ // 4))
    small.write_bytes(b"1\n")
    for path, lines in ((big, LAST_READ // 8), (small, 1)):
        recorder = LineRecorder()
        transport = FdTransport(os.open(path, os.O_RDONLY), os.open(os.devnull, os.O_WRONLY))
        transport.start(recorder)
        transport.finish_reading()
        transport.close()

        assert (len(recorder.lines), recorder.ends) == (lines, [None])


@pytest.mark.requirement("process.fd-end")
async def test_end_declared_before_the_start_has_no_effect(recorder: LineRecorder) -> None:
    ours, theirs = pipe_pair()

    ours.finish_reading()

    ours.start(recorder)
    assert recorder.ends == []
    ours.close()
    theirs.close()


@pytest.mark.requirement("process.fd-end")
async def test_who_closes_while_the_end_is_called_hears_no_more(raw: Raw) -> None:
    raw.recorder.on_lines = raw.transport.close
    os.write(raw.source, b"1\n2\n")

    raw.transport.finish_reading()

    assert raw.recorder.ends == []


# -- writing


@pytest.mark.requirement("process.fd-write")
async def test_what_is_sent_in_one_turn_is_one_write(raw: Raw) -> None:
    for _ in range(3):
        raw.transport.send(b"{}")

    await raw.transport.flush()

    assert os.read(raw.sink, 100) == b"{}\n{}\n{}\n"


@pytest.mark.requirement("process.fd-write")
async def test_more_lines_than_one_write_may_gather_keep_their_order(
    recorder: LineRecorder,
) -> None:
    ours, theirs = pipe_pair()
    ours.start(LineRecorder())
    theirs.start(recorder)
    lines = [b"%d" % n + b"x" * n for n in range(65_500, 65_700)]

    for line in lines:
        ours.send(line)

    assert await recorder.received(len(lines)) == lines
    ours.close()
    theirs.close()


@pytest.mark.requirement("jsonrpc.close-read-error")
async def test_a_peer_that_reads_no_more_ends_it_after_its_last_words(raw: Raw) -> None:
    os.write(raw.source, b"last words\n")
    raw.close_sink()
    raw.transport.send(b"too late")

    error = await raw.recorder.end()

    assert isinstance(error, BrokenPipeError)
    assert raw.recorder.lines == [b"last words"]
    assert raw.transport.backlog == 0
    raw.transport.send(b"later still")
    assert raw.transport.backlog == 0
    await raw.transport.drain()
    await raw.transport.flush()


@pytest.mark.requirement("process.fd-write")
async def test_a_slow_peer_that_closes_unblocks_its_sources(raw: Raw) -> None:
    raw.transport.send(b"x" * 5 * HIGH_WATER)
    await raw.recorder.paused(1)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(raw.transport.drain())
        raw.close_sink()

    assert isinstance(await raw.recorder.end(), BrokenPipeError)
    assert raw.recorder.resumes == 1


@pytest.mark.requirement("jsonrpc.close-blocked-writer")
async def test_a_blocked_writer_does_not_stop_the_reader(raw: Raw) -> None:
    raw.transport.send(b"x" * 5 * HIGH_WATER)
    await raw.recorder.paused(1)

    os.write(raw.source, b"1\n")

    assert await raw.recorder.received(1) == [b"1"]
    assert raw.transport.backlog > HIGH_WATER


@pytest.mark.requirement("process.fd-close")
async def test_closing_waits_for_a_blocked_peer_up_to_its_limit(raw: Raw) -> None:
    raw.transport.send(b"x" * 5 * HIGH_WATER)

    async with asyncio.timeout(1):
        await raw.transport.aclose(grace=0.01)

    assert raw.recorder.ends == []
    assert raw.transport.backlog == 0


@pytest.mark.requirement("jsonrpc.close-half")
async def test_each_direction_ends_by_itself(recorder: LineRecorder) -> None:
    ours, theirs = pipe_pair()
    they = LineRecorder()
    ours.start(recorder)
    theirs.start(they)
    ours.send(b"question")
    await ours.flush()

    ours.close_writing()
    ours.close_writing()
    ours.send(b"not any more")

    assert await they.end() is None
    assert they.lines == [b"question"]
    theirs.send(b"answer")
    assert await recorder.received(1) == [b"answer"]
    ours.close()
    theirs.close()


@pytest.mark.requirement("process.fd-close")
async def test_a_socket_stays_open_when_its_writing_ends(recorder: LineRecorder) -> None:
    ours, theirs = socket.socketpair()
    transport = FdTransport(fd := ours.detach(), fd)
    transport.start(recorder)

    transport.close_writing()
    theirs.send(b"1\n")

    assert await recorder.received(1) == [b"1"]
    transport.close()
    theirs.close()


@pytest.mark.requirement("process.fd-write")
async def test_a_full_disk_ends_it(recorder: LineRecorder) -> None:
    quiet, source = os.pipe()
    transport = FdTransport(quiet, os.open("/dev/full", os.O_WRONLY))
    transport.start(recorder)

    transport.send(b"1")

    error = await recorder.end()
    assert isinstance(error, OSError)
    assert error.errno == errno.ENOSPC
    transport.close()
    os.close(source)


@pytest.mark.requirement("process.transport-number-reused")
@pytest.mark.parametrize("end", [FdTransport.close, FdTransport.close_writing])
async def test_what_waits_is_not_written_to_who_gets_the_number_next(
    raw: Raw, end: Callable[[FdTransport], None]
) -> None:
    raw.transport.send(b"for the peer")
    end(raw.transport)
    source, sink = os.pipe()
    others = [os.dup(sink) for _ in range(3)]
    await everything_served()
    for fd in (sink, *others):
        os.close(fd)

    assert os.read(source, 100) == b""
    os.close(source)


# -- files and terminals


@pytest.mark.requirement("process.stdio-regular-file")
async def test_plain_files_are_read_and_written(recorder: LineRecorder, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"".join(b'{"n":%d}\n' % n for n in range(50_000)))
    read_fd = os.open(tmp_path / "in", os.O_RDONLY)
    write_fd = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
    transport = FdTransport(read_fd, write_fd)
    transport.start(recorder)

    assert await recorder.end() is None
    assert len(recorder.lines) == 50_000
    for line in recorder.lines:
        assert isinstance(line, bytes)
        transport.send(line)
    await transport.aclose()

    assert (tmp_path / "out").read_bytes() == (tmp_path / "in").read_bytes()


@pytest.mark.requirement("process.stdio-regular-file")
async def test_a_plain_file_can_be_paused(recorder: LineRecorder, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"x" * 1023 * 64 + b"\n" + b"y" * 200_000 + b"\nz\n")
    transport = FdTransport(os.open(tmp_path / "in", os.O_RDONLY), os.open(os.devnull, os.O_WRONLY))
    recorder.on_lines = transport.pause_reading
    transport.start(recorder)
    await recorder.received(1)
    await everything_served()
    assert len(recorder.lines) == 1

    recorder.on_lines = None
    transport.resume_reading()

    assert await recorder.end() is None
    assert len(recorder.lines) == 3
    transport.close()


@pytest.mark.requirement("process.fd-kinds")
async def test_nothing_in_and_nowhere_out_is_fine(recorder: LineRecorder) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    transport = FdTransport(null, null)
    transport.start(recorder)
    transport.send(b"1")

    assert await recorder.end() is None
    await transport.aclose()


@pytest.mark.requirement("process.fd-kinds")
async def test_a_terminal_is_read_and_written(recorder: LineRecorder) -> None:
    keyboard, terminal = os.openpty()
    tty.setraw(terminal)
    transport = FdTransport(terminal, os.dup(terminal))
    transport.start(recorder)

    os.write(keyboard, b"typed\n")
    transport.send(b"shown")

    assert await recorder.received(1) == [b"typed"]
    assert os.read(keyboard, 100) == b"shown\n"
    os.close(keyboard)
    assert isinstance(await recorder.end(), OSError | None)
    transport.close()


# -- descriptors


@pytest.mark.requirement("process.stdio-blocking-mode-restored")
async def test_descriptors_get_back_the_mode_they_came_with(recorder: LineRecorder) -> None:
    keyboard, terminal = os.openpty()
    # One open file behind both descriptors, and a third that another process has.
    transport = FdTransport(os.dup(terminal), os.dup(terminal))
    transport.start(recorder)
    assert not os.get_blocking(terminal)

    await transport.aclose()

    assert os.get_blocking(terminal)
    os.close(keyboard)
    os.close(terminal)


@pytest.mark.requirement("process.stdio-blocking-mode-restored")
async def test_a_descriptor_that_came_without_blocking_leaves_without(
    recorder: LineRecorder,
) -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(0)
    transport = FdTransport(fd := os.dup(ours.fileno()), fd)
    transport.start(recorder)

    transport.close()

    assert not os.get_blocking(ours.fileno())
    ours.close()
    theirs.close()


@pytest.mark.requirement("jsonrpc.close-handle-outlives")
async def test_closing_leaves_no_descriptor_open_started_or_not() -> None:
    before = open_descriptors()
    for transport in pipe_pair():
        await transport.aclose()
        transport.close()
    ours, theirs = pipe_pair()
    ours.start(LineRecorder())
    ours.close()
    theirs.close()

    assert open_descriptors() == before


@pytest.mark.requirement("process.fd-close")
async def test_closed_descriptors_are_reported_once() -> None:
    closed: list[set[str]] = []
    before = open_descriptors()
    read_fd, write_fd = os.pipe()
    transport = FdTransport(read_fd, write_fd, on_close=lambda: closed.append(open_descriptors()))

    transport.close()
    transport.close()

    assert closed == [before]


@pytest.mark.requirement("process.fd-large-lines")
async def test_turn_takes_several_reads_of_a_large_line_and_no_more_than_a_bound() -> None:
    endless = os.open("/dev/zero", os.O_RDONLY)
    reader = FdReader(endless, MAX_LINE)
    sizes: list[int] = [0]
    try:
        reader.start(lambda _: None, lambda _: None)
        for _ in range(20):
            await asyncio.sleep(0)
            sizes.append(reader.unfinished)
    finally:
        reader.close()
        os.close(endless)

    grown = [later - earlier for earlier, later in pairwise(sizes)]
    assert READ_SIZE < max(grown) <= AT_ONCE + 2 * READ_SIZE

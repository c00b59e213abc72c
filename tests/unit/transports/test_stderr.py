"""Tail of a program's stderr: bounded, logged by line, and never blocking."""

import os
import socket
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerwire.testing import everything_served
from peerwire.transports.fd_streams import LAST_READ
from peerwire.transports.process import MAX_STDERR_LINE, TAIL, Stderr, StderrLines


@pytest.mark.requirement("process.stderr-any-cut")
@given(st.lists(st.binary(max_size=20) | st.just(b"\n")))
def test_any_cut_gives_the_same_lines(pieces: list[bytes]) -> None:
    lines = StderrLines()

    seen = [line for piece in pieces for line in lines.feed(piece)] + [*lines.finish()]

    *whole, last = b"".join(pieces).split(b"\n")
    assert seen == [line.removesuffix(b"\r") for line in (*whole, *filter(None, [last]))]


@pytest.mark.requirement("process.stderr-long-line")
def test_a_long_line_is_cut_and_says_so() -> None:
    lines = StderrLines()
    pieces = [b"x" * 10_000, b"y" * 10_000, b"z\nnext\n"]

    first, second = (line for piece in pieces for line in lines.feed(piece))

    assert (
        first == b"x" * 10_000 + b"y" * (MAX_STDERR_LINE - 10_000) + b" [cut, 20001 bytes in all]"
    )
    assert second == b"next"


@pytest.mark.requirement("process.stderr-drain-after-error")
async def test_an_error_of_reading_is_its_end(caplog: pytest.LogCaptureFixture) -> None:
    ours, theirs = socket.socketpair()
    ours.send(b"never read, so that closing resets")
    words: list[bytes] = []
    stderr = Stderr(ours.detach(), words.append)
    theirs.send(b"one\ntwo")
    await everything_served()
    theirs.close()

    await everything_served()
    stderr.finish()

    assert words == [b"one", b"two"]
    assert stderr.tail == b"one\ntwo"
    assert caplog.records == []


@pytest.mark.requirement("process.stderr-tail", "process.stderr-unterminated")
async def test_tail_has_the_last_64_kib_while_another_process_writes() -> None:
    source, sink = os.pipe()
    stderr = Stderr(source, None)
    for number in range(100):
        os.write(sink, b"%d" % (number % 10) * 10_000)
        await everything_served()
    assert stderr.tail == b"".join(b"%d" % n * 10_000 for n in range(3, 10))[-TAIL:]

    stderr.finish()
    stderr.finish()

    os.close(sink)
    assert TAIL == 64 * 1024
    assert LAST_READ >= TAIL


@pytest.mark.requirement("process.stderr-unterminated")
async def test_megabytes_cost_no_more_memory_than_the_tail() -> None:
    source, sink = os.pipe()
    stderr = Stderr(source, lambda _: None)
    piece = b"x" * 60_000
    tracemalloc.start()
    for _ in range(60):
        os.write(sink, piece)
        await everything_served()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    os.close(sink)
    stderr.finish()

    assert peak < 25 * TAIL

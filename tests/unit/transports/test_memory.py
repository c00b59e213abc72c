"""Promises of a pair in memory beyond those of every transport."""

import pytest

from peerwire.errors import ConnectionClosedError
from peerwire.jsonrpc.transport import HIGH_WATER
from peerwire.testing import LineRecorder, everything_served
from peerwire.transports.memory import memory_pair


@pytest.mark.requirement("process.memory-transport")
async def test_a_test_can_break_one_direction() -> None:
    ours, theirs = memory_pair()
    we, they = LineRecorder(), LineRecorder()
    ours.start(we)
    theirs.start(they)
    theirs.send(b"lost")

    ours.break_off("the cable is cut")
    ours.break_off("twice")
    theirs.send(b"lost too")

    error = await we.end()
    assert isinstance(error, ConnectionClosedError)
    assert str(error) == "the cable is cut"
    ours.send(b"still there")
    assert await they.received(1) == [b"still there"]
    assert (we.lines, we.ends) == ([], [error])
    assert theirs.backlog == 0


@pytest.mark.requirement("process.memory-transport")
async def test_transport_that_breaks_before_its_start_notifies_no_listener() -> None:
    ours, theirs = memory_pair()
    theirs.start(LineRecorder())
    told = LineRecorder()

    ours.break_off("too early")
    ours.start(told)
    await everything_served()

    assert told.ends == []


@pytest.mark.requirement("process.memory-transport")
async def test_sender_that_has_not_started_gets_no_backlog_marks() -> None:
    ours, theirs = memory_pair()
    we, they = LineRecorder(), LineRecorder()
    ours.send(b"x" * 5 * HIGH_WATER)
    await everything_served()

    ours.start(we)
    theirs.start(they)

    await they.received(1)
    await we.until(lambda: we.resumes == 1)
    assert we.pauses == 0


@pytest.mark.requirement("process.memory-transport")
async def test_much_is_given_a_piece_at_a_time() -> None:
    ours, theirs = memory_pair()
    they = LineRecorder()
    counts: list[int] = []
    they.on_lines = lambda: counts.append(len(they.lines))
    for _ in range(300):
        ours.send(b"x" * 1023)

    ours.start(LineRecorder())
    theirs.start(they)

    await they.received(300)
    assert counts == [65, 130, 195, 260, 300]

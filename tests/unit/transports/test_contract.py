"""Promises of every transport."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable

import pytest
from msgspec import Raw

from peerwire.jsonrpc.transport import (
    HIGH_WATER,
    LOW_WATER,
    OversizedLine,
    PiecewiseTransport,
    Transport,
)
from peerwire.testing import LineRecorder, everything_served, pipe_pair
from peerwire.transports.fd import FdTransport
from peerwire.transports.memory import memory_pair

LIMIT = 8 * 1024 * 1024


def sockets() -> tuple[Transport, Transport]:
    ours, theirs = (sock.detach() for sock in socket.socketpair())
    return FdTransport(ours, ours, limit=LIMIT), FdTransport(theirs, theirs, limit=LIMIT)


PAIRS: dict[str, Callable[[], tuple[Transport, Transport]]] = {
    "memory": lambda: memory_pair(limit=LIMIT),
    "pipes": lambda: pipe_pair(limit=LIMIT),
    "sockets": sockets,
}


class Ends:
    """Both ends of a joined pair, each with the calls that it got."""

    def __init__(self, pair: tuple[Transport, Transport]) -> None:
        self.ours, self.theirs = pair
        self.we, self.they = LineRecorder(), LineRecorder()

    def start(self) -> None:
        self.ours.start(self.we)
        self.theirs.start(self.they)


@pytest.fixture(params=PAIRS)
async def ends(request: pytest.FixtureRequest) -> AsyncIterator[Ends]:
    ends = Ends(PAIRS[request.param]())
    yield ends
    await ends.ours.aclose(grace=0)
    await ends.theirs.aclose(grace=0)


@pytest.mark.requirement("process.transport-order")
async def test_lines_arrive_in_order_both_ways(ends: Ends) -> None:
    ends.start()
    there = [b'{"n":%d}' % n for n in range(20_000)]
    back = [b'{"m":%d}' % n for n in range(20_000)]

    for one, two in zip(there, back, strict=True):
        ends.ours.send(one)
        ends.theirs.send(two)

    assert await ends.they.received(len(there)) == there
    assert await ends.we.received(len(back)) == back
    assert ends.ours.backlog == ends.theirs.backlog == 0


@pytest.mark.requirement("process.transport-order")
async def test_what_was_sent_before_the_start_is_not_lost(ends: Ends) -> None:
    ends.ours.send(b"1")
    ends.theirs.start(ends.they)
    ends.ours.send(b"2")
    ends.ours.start(ends.we)
    ends.ours.send(b"3")

    assert await ends.they.received(3) == [b"1", b"2", b"3"]


@pytest.mark.requirement("process.transport-order")
async def test_send_calls_no_listener(ends: Ends) -> None:
    ends.start()

    for _ in range(3):
        ends.ours.send(b"x" * HIGH_WATER)

    assert ends.they.lines == []
    assert ends.we.pauses == 0


@pytest.mark.requirement("process.transport-order")
async def test_large_and_small_lines_keep_their_order(ends: Ends) -> None:
    ends.start()
    large = bytes(range(11, 256)) * 20_000
    lines = [b"a", b"b", large, b"c", large, large, b"d"]

    for line in lines:
        ends.ours.send(line)

    assert await ends.they.received(len(lines)) == lines


@pytest.mark.requirement("process.transport-order")
@pytest.mark.parametrize("is_started", [True, False])
async def test_a_line_in_pieces_keeps_its_place_among_whole_lines(*, is_started: bool) -> None:
    ends = Ends(pipe_pair(limit=LIMIT))
    assert isinstance(ends.ours, PiecewiseTransport)
    if is_started:
        ends.start()
    large = bytes(range(11, 256)) * 2_000

    ends.ours.send(b"a")
    ends.ours.send(large)
    ends.ours.send_pieces([b"{", large, b"", Raw(large), b"}"])
    ends.ours.send(b"b")
    ends.ours.send_pieces([b"c", b"d"])
    sent = ends.ours.backlog
    if not is_started:
        ends.start()

    expected = [b"a", large, b"{" + large + large + b"}", b"b", b"cd"]
    assert await ends.they.received(len(expected)) == expected
    assert sent == sum(len(line) + 1 for line in expected)
    assert ends.ours.backlog == 0


@pytest.mark.requirement("process.transport-order")
async def test_sending_a_line_in_pieces_calls_no_listener() -> None:
    ends = Ends(pipe_pair(limit=LIMIT))
    assert isinstance(ends.ours, PiecewiseTransport)
    ends.start()

    ends.ours.send_pieces([b"x" * HIGH_WATER, b"y" * HIGH_WATER])

    assert ends.we.pauses == 0
    assert ends.ours.backlog == 2 * HIGH_WATER + 1


@pytest.mark.requirement("jsonrpc.line-limit-configurable")
async def test_line_over_the_limit_is_reported_in_order(ends: Ends) -> None:
    ends.start()
    longest, too_long = b"y" * LIMIT, b"h" * 300 + b"x" * LIMIT + b"t" * 300

    for line in (b"before", longest, too_long, b"after"):
        ends.ours.send(line)

    over = OversizedLine(b"h" * 256, LIMIT, b"t" * 256)
    assert await ends.they.received(4) == [b"before", longest, over, b"after"]


@pytest.mark.requirement("process.transport-pause")
async def test_nothing_arrives_while_reading_is_paused(ends: Ends) -> None:
    ends.start()
    ends.theirs.pause_reading()
    ends.ours.send(b"1")
    await everything_served()
    assert ends.they.lines == []

    ends.theirs.resume_reading()

    assert await ends.they.received(1) == [b"1"]


@pytest.mark.requirement("process.transport-pause")
async def test_one_that_is_paused_before_it_starts_starts_paused(ends: Ends) -> None:
    ends.theirs.pause_reading()
    ends.start()
    ends.ours.send(b"1")
    await everything_served()
    assert ends.they.lines == []

    ends.theirs.resume_reading()

    assert await ends.they.received(1) == [b"1"]


@pytest.mark.requirement("process.transport-pause")
async def test_a_listener_may_pause_from_inside(ends: Ends) -> None:
    ends.start()
    ends.they.on_lines = ends.theirs.pause_reading
    ends.ours.send(b"1")
    await ends.they.received(1)
    ends.ours.send(b"2")
    await everything_served()
    assert ends.they.lines == [b"1"]

    ends.they.on_lines = None
    ends.theirs.resume_reading()

    assert await ends.they.received(2) == [b"1", b"2"]


@pytest.mark.requirement("process.transport-pause")
async def test_pausing_twice_is_undone_by_one_resume(ends: Ends) -> None:
    ends.start()
    ends.theirs.pause_reading()
    ends.theirs.pause_reading()
    ends.theirs.resume_reading()
    ends.theirs.resume_reading()
    ends.ours.send(b"1")

    assert await ends.they.received(1) == [b"1"]


@pytest.mark.requirement("process.transport-marks")
async def test_growing_backlog_of_a_slow_peer_is_reported(ends: Ends) -> None:
    ends.start()
    ends.theirs.pause_reading()
    left: list[int] = []
    ends.we.on_resume = lambda: left.append(ends.ours.backlog)
    for pauses in (1, 2, 3):
        ends.ours.send(b"x" * (5 * HIGH_WATER + 15_000))
        await ends.we.paused(pauses)
    await everything_served()
    assert (ends.we.pauses, ends.we.resumes) == (3, 0)
    assert ends.ours.backlog > HIGH_WATER

    ends.theirs.resume_reading()
    await ends.they.received(3)

    await ends.we.until(lambda: ends.we.resumes == 1)
    assert left[0] <= LOW_WATER
    assert (ends.we.pauses, ends.we.resumes) == (3, 1)


@pytest.mark.requirement("process.transport-marks")
async def test_small_growth_of_a_backlog_is_reported(ends: Ends) -> None:
    ends.start()
    ends.theirs.pause_reading()
    ends.ours.send(b"x" * 5 * HIGH_WATER)
    await ends.we.paused(1)

    ends.ours.send(b"y")

    await ends.we.paused(2)


@pytest.mark.requirement("process.transport-marks")
async def test_a_source_that_fills_up_to_the_mark_is_resumed_until_it_is_dry(ends: Ends) -> None:
    ends.start()
    left = [b'{"n":%d,"%s"}' % (n, b"x" * 1000) for n in range(5_000)]
    lines, most = [*left], 0

    def fill() -> None:
        nonlocal most
        while left and ends.ours.backlog <= HIGH_WATER:
            ends.ours.send(left.pop(0))
        most = max(most, ends.ours.backlog)

    def send_more() -> None:
        fill()
        # What was taken whole brings no further call.
        if left and ends.we.pauses == ends.we.resumes:
            asyncio.get_running_loop().call_soon(send_more)

    ends.we.on_resume = send_more
    send_more()

    assert await ends.they.received(len(lines)) == lines
    assert most < HIGH_WATER + 2 * len(lines[0])


@pytest.mark.requirement("process.transport-drain")
async def test_drain_waits_for_a_slow_peer(ends: Ends) -> None:
    ends.start()
    ends.theirs.pause_reading()
    ends.ours.send(b"x" * 5 * HIGH_WATER)
    drained = asyncio.Event()

    async def drain() -> None:
        await ends.ours.drain()
        drained.set()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(drain())
        await everything_served()
        assert not drained.is_set()
        ends.theirs.resume_reading()

    assert ends.ours.backlog <= LOW_WATER


@pytest.mark.requirement("process.transport-drain")
async def test_drain_returns_at_once_when_the_peer_keeps_up(ends: Ends) -> None:
    ends.start()
    ends.ours.send(b"x")

    await ends.ours.drain()

    assert ends.we.pauses == 0


@pytest.mark.requirement("process.transport-drain")
async def test_closing_wakes_drain_and_drops_later_lines(ends: Ends) -> None:
    ends.start()
    ends.theirs.pause_reading()
    ends.ours.send(b"x" * 5 * HIGH_WATER)
    await ends.we.paused(1)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(ends.ours.drain())
        tasks.create_task(ends.ours.aclose(grace=0))
    ends.ours.send(b"late")

    await ends.ours.drain()


@pytest.mark.requirement("jsonrpc.close-flushes", "jsonrpc.close-clean-eof")
async def test_what_was_sent_before_closing_still_arrives_then_the_end(ends: Ends) -> None:
    ends.start()
    lines = [b'{"n":%d,"%s"}' % (n, b"x" * 1000) for n in range(1_000)]
    for line in lines:
        ends.ours.send(line)

    await ends.ours.aclose()

    assert await ends.they.end() is None
    assert ends.they.lines == lines


@pytest.mark.requirement("process.transport-pause")
async def test_the_end_waits_for_a_paused_reader(ends: Ends) -> None:
    ends.start()
    ends.theirs.pause_reading()
    ends.ours.send(b"1")
    await ends.ours.aclose()
    await everything_served()
    assert ends.they.ends == []

    ends.theirs.resume_reading()

    assert await ends.they.end() is None
    assert ends.they.lines == [b"1"]


@pytest.mark.requirement("process.transport-close")
async def test_closed_transport_calls_no_listener(ends: Ends) -> None:
    ends.start()
    ends.theirs.send(b"on its way")

    await ends.ours.aclose()
    await ends.they.end()
    await everything_served()

    assert (ends.we.lines, ends.we.ends) == ([], [])


@pytest.mark.requirement("process.transport-close")
async def test_who_waits_to_close_reads_on_and_hears_nothing(ends: Ends) -> None:
    ends.start()
    ends.theirs.pause_reading()
    ends.ours.send(b"x" * 5 * HIGH_WATER)

    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        tasks.create_task(ends.ours.aclose(grace=5))
        await everything_served()
        ends.theirs.send(b"y" * 5 * HIGH_WATER)
        await everything_served()
        ends.theirs.resume_reading()

    assert await ends.they.received(1) == [b"x" * 5 * HIGH_WATER]
    await ends.they.end()
    assert (ends.we.lines, ends.we.ends) == ([], [])


@pytest.mark.requirement("process.transport-close")
async def test_closing_twice_is_closing_once(ends: Ends) -> None:
    ends.start()

    await ends.ours.aclose()
    await ends.ours.aclose()

    assert await ends.they.end() is None


@pytest.mark.requirement("process.transport-close")
async def test_a_listener_may_close_from_inside(ends: Ends) -> None:
    ends.start()
    async with asyncio.TaskGroup() as tasks:
        ends.they.on_lines = lambda: void(tasks.create_task(ends.theirs.aclose()))
        ends.ours.send(b"1")
        await ends.they.received(1)

    await ends.we.end()
    assert ends.they.ends == []


@pytest.mark.requirement("process.transport-close")
async def test_one_that_was_never_started_can_be_closed(ends: Ends) -> None:
    ends.theirs.start(ends.they)
    ends.ours.send(b"1")

    await ends.ours.aclose()

    await ends.they.end()


def void(_: object) -> None:
    """Return no value: nothing reads that of a callback."""

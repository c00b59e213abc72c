"""The buffer of recent lines."""

import tracemalloc

import pytest

from peerwire.jsonrpc.transport import OversizedLine
from symposium.run_mode.editor_route_end import MAX_RECENT, MAX_RECENT_LINE, RecentLines


@pytest.mark.requirement("run-mode.recent-lines")
def test_lines_since_a_position_are_returned_in_order() -> None:
    recent = RecentLines()
    recent.take([b"before"])
    moment = recent.reads
    recent.take([b"1", b"2"])
    recent.take([b"3"])
    assert list(recent.since(moment)) == [b"1", b"2", b"3"]
    assert list(recent.since(recent.reads)) == []


@pytest.mark.requirement("run-mode.recent-lines")
def test_latest_lines_are_kept() -> None:
    recent = RecentLines()
    for number in range(3 * MAX_RECENT):
        recent.take([b"%d" % number])
    kept = list(recent.since(0))
    assert kept == [b"%d" % number for number in range(2 * MAX_RECENT, 3 * MAX_RECENT)]


@pytest.mark.requirement("run-mode.recent-lines")
def test_long_line_is_dropped_without_other_lines_of_its_read() -> None:
    recent = RecentLines()
    recent.take([b"x" * (MAX_RECENT_LINE + 1), b"short"])
    recent.take([OversizedLine(b"{", 10), b"too"])
    recent.take([b"x" * (MAX_RECENT_LINE + 1)])
    assert list(recent.since(0)) == [b"short", b"too"]


@pytest.mark.requirement("run-mode.recent-lines")
def test_reads_with_only_long_lines_take_no_memory() -> None:
    recent = RecentLines()
    recent.take([b"short"])
    long = [b"x" * (MAX_RECENT_LINE + 1)]
    tracemalloc.start()
    for _ in range(10_000):
        recent.take(long)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert kept < 10_000
    assert list(recent.since(0)) == [b"short"]
    assert list(recent.since(1)) == []

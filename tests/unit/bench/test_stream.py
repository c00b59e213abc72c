"""Figures of a received stream: rate, latency, order, and loss."""

import pytest

from bench.modes.slow import growth
from bench.modes.stream import Arrivals, figures

pytestmark = pytest.mark.project

REPLY = b'{"id":3,"result":{"stopReason":"end_turn"}}\n'


def update(number: int, sent: int = 0) -> bytes:
    return b'{"params":"@%d.%d@"}\n' % (number, sent)


def seen(*chunks: bytes, count: int) -> dict[str, float]:
    """Figures of reads at 1,000, 2,000, ... nanoseconds."""
    timed = [(1000 * number, chunk) for number, chunk in enumerate(chunks, 1)]
    return figures(Arrivals(0, timed), count)


@pytest.mark.requirement("bench.stream-faults")
def test_complete_stream_has_no_loss() -> None:
    found = seen(update(0) + update(1), update(2) + REPLY, count=3)

    assert (found["lost"], found["misordered"], found["early"]) == (0, 0, 0)
    assert found["rate"] == 3 / 2e-6


@pytest.mark.requirement("bench.stream-faults")
def test_update_arrives_with_the_read_that_completes_its_line() -> None:
    line = update(0, sent=500)

    assert seen(line[:9], line[9:], REPLY, count=1)["p50"] == 1.5


@pytest.mark.requirement("bench.stream-faults")
def test_missing_update_is_lost() -> None:
    found = seen(update(0) + update(2) + REPLY, count=3)

    assert found["lost"] == 1


@pytest.mark.requirement("bench.stream-faults")
def test_overtaken_update_is_out_of_order() -> None:
    found = seen(update(1) + update(0) + update(2) + REPLY, count=3)

    assert found["lost"] == 0
    assert found["misordered"] == 2


@pytest.mark.requirement("bench.stream-faults")
def test_reply_before_updates_counts_them_as_early() -> None:
    found = seen(update(0) + REPLY[:20], REPLY[20:] + update(1), update(2), count=3)

    assert found["early"] == 2
    assert found["lost"] == 0


@pytest.mark.requirement("bench.stream-faults")
def test_growth_is_the_rise_of_memory_above_its_first_sample() -> None:
    assert growth([20.0, 23.5, 21.0]) == 3.5
    assert growth([20.0, 18.0]) == 0
    assert growth([]) == 0

"""Timers for requests whose deadline has passed."""

from typing import Any

import pytest
from tests.support.set_clock import SetClock, on_set_clock

from symposium.daemon.connection import RequestTimer


class Open:
    """Requests whose next deadline a test sets, with their broker."""

    def __init__(self) -> None:
        self.next_deadline: float | None = None
        self.expired = 0
        self.open = self

    def expire(self) -> list[Any]:
        self.expired += 1
        self.next_deadline = None
        return []


@pytest.mark.requirement("bus.deadlines")
def test_timer_fires_once_at_the_earliest_deadline() -> None:
    async def run(clock: SetClock) -> None:
        requests = Open()
        deadlines = RequestTimer(requests, list)  # type: ignore[arg-type] - as much of a broker as is used
        deadlines.watch()
        for when in (10.0, 20.0, 5.0):
            requests.next_deadline = when
            deadlines.watch()
        await clock.advance(4.9)
        assert requests.expired == 0
        await clock.advance(0.2)
        assert requests.expired == 1
        await clock.advance(100)
        assert requests.expired == 1

    on_set_clock(run)


@pytest.mark.requirement("bus.deadlines")
def test_timer_continues_with_the_next_deadline_until_closed() -> None:
    async def run(clock: SetClock) -> None:
        requests = Open()
        carried: list[Any] = []

        def carry_out(actions: Any) -> None:
            carried.append(actions)
            requests.next_deadline = clock.now + 10

        deadlines = RequestTimer(requests, carry_out)  # type: ignore[arg-type] - the same
        requests.next_deadline = 10.0
        deadlines.watch()
        await clock.advance(10)
        await clock.advance(10)
        assert (requests.expired, len(carried)) == (2, 2)
        deadlines.close()
        await clock.advance(100)
        assert requests.expired == 2
        deadlines.watch()
        await clock.advance(0)
        assert requests.expired == 3

    on_set_clock(run)

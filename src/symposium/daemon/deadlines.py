"""Wakes the broker when the time of a request is over: one timer, for the next of them."""

import asyncio
from collections.abc import Callable, Iterable

from symposium.bus.broker import Broker
from symposium.bus.routing import Action


class Deadlines:
    """Has carried out what the broker says, whenever a deadline has come."""

    def __init__(self, broker: Broker, carry_out: Callable[[Iterable[Action]], None]) -> None:
        self._broker = broker
        self._carry_out = carry_out
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    def watch(self) -> None:
        """Requests may have come or gone."""
        deadline = self._broker.open.next_deadline
        if deadline is None:
            return
        # The loop's clock is the broker's.
        if self._timer is None or deadline < self._timer.when():
            self.close()
            self._timer = self._loop.call_at(deadline, self._due)

    def close(self) -> None:
        """Wake nobody any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        self._timer = None
        self._carry_out(self._broker.expire())
        self.watch()

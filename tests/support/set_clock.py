"""Event loop whose clock a test sets: timeouts of minutes are tested in milliseconds."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class SetClock(asyncio.SelectorEventLoop):
    """Event loop whose clock changes only when a test advances it."""

    now = 0.0

    def time(self) -> float:
        """The time that the test has set."""
        return self.now

    async def advance(self, seconds: float) -> None:
        """Move the clock and run every timer that is due."""
        self.now += seconds
        await asyncio.sleep(0)
        await asyncio.sleep(0)


def on_set_clock(test: Callable[[SetClock], Coroutine[Any, Any, None]]) -> None:
    """Run a test on a loop with such a clock."""
    with asyncio.Runner(loop_factory=SetClock) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, SetClock)
        runner.run(test(loop))

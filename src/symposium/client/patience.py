"""How long an agent is waited for; the clock stands still while it waits for a person."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager


class Patience:
    """The time for one answer at a time.

    Args:
        seconds: how long; None for ever.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._scope: asyncio.Timeout | None = None
        self._questions = 0

    @property
    def deadline(self) -> float | None:
        """When it ends, by the loop's clock; None while it does not."""
        return None if self._scope is None else self._scope.when()

    @asynccontextmanager
    async def limit(self) -> AsyncGenerator[None]:
        """Wait inside the block, no longer.

        Raises:
            TimeoutError: it is over.
        """
        async with asyncio.timeout(self.seconds) as scope:
            self._scope = scope
            try:
                yield
            finally:
                self._scope = None

    @contextmanager
    def paused(self) -> Generator[None]:
        """Inside the block somebody else is waited for; afterwards the time begins anew."""
        self._questions += 1
        self._move(None)
        try:
            yield
        finally:
            self._questions -= 1
            if not self._questions and self.seconds is not None:
                self._move(asyncio.get_running_loop().time() + self.seconds)

    def _move(self, deadline: float | None) -> None:
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(deadline)

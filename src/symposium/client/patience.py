"""Timeout for an agent, paused while it waits for the user."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager


class Patience:
    """Timeout for one response at a time.

    Args:
        seconds: the time limit; None for no limit.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._scope: asyncio.Timeout | None = None
        self._questions = 0

    @property
    def deadline(self) -> float | None:
        """The deadline by the loop's clock; None while there is none."""
        return None if self._scope is None else self._scope.when()

    @asynccontextmanager
    async def limit(self) -> AsyncGenerator[None]:
        """Limit the time of the block.

        Raises:
            TimeoutError: the time is over.
        """
        async with asyncio.timeout(self.seconds) as scope:
            self._scope = scope
            try:
                yield
            finally:
                self._scope = None

    @contextmanager
    def paused(self) -> Generator[None]:
        """Pause the timeout in the block; it starts again afterwards."""
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

"""Bound the lines that clients have begun and not ended: in bytes, all together, and in time."""

import asyncio
from collections.abc import Callable
from typing import Final

from symposium.daemon.link import Link

TOTAL: Final = 64 * 1024 * 1024
"""Bytes of all unfinished lines together; the client with the longest is cut."""

IDLE_TIME: Final = 30.0
"""Seconds in which more of an unfinished line must come."""

EndConnection = Callable[[Link, str], None]
"""Ends a client's connection, for this reason."""


class HalfLines:
    """The clients in the middle of a line.

    Args:
        cut: ends the connection of one that holds too much, or has stopped.
    """

    def __init__(self, cut: EndConnection) -> None:
        self._cut = cut
        self._sizes: dict[Link, int] = {}
        self._since: dict[Link, float] = {}
        self._total = 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_looking = False
        self._loop = asyncio.get_running_loop()

    @property
    def total(self) -> int:
        """Bytes of all unfinished lines."""
        return self._total

    def read(self, link: Link) -> None:
        """Note what one client has begun, after something of it was read."""
        size = link.transport.reader.unfinished
        if size == 0:
            if link in self._sizes:
                self.forget(link)
            return
        self._total += size - self._sizes.get(link, 0)
        self._sizes[link] = size
        # The oldest first: one that moves goes to the end.
        self._since.pop(link, None)
        self._since[link] = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_later(IDLE_TIME, self._expire)
        if self._total > TOTAL and not self._is_looking:
            self._is_looking = True
            self._loop.call_soon(self._look)

    def forget(self, link: Link) -> None:
        """Note that a client has ended its line, or is gone."""
        self._total -= self._sizes.pop(link, 0)
        self._since.pop(link, None)

    def close(self) -> None:
        """Wait for no client."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._is_looking = False
        while self._total > TOTAL:
            longest = max(self._sizes, key=self._sizes.__getitem__)
            reason = f"all unfinished lines had {self._total} bytes, its own {self._sizes[longest]}"
            self.forget(longest)
            self._cut(longest, reason)

    def _expire(self) -> None:
        self._timer = None
        now = self._loop.time()
        for link, since in list(self._since.items()):
            if now < since + IDLE_TIME:
                self._timer = self._loop.call_at(since + IDLE_TIME, self._expire)
                return
            self.forget(link)
            self._cut(link, f"it stopped for {IDLE_TIME:g} s in the middle of a line")

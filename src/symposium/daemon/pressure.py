"""Who reads too slowly: what waits for each client, and for all of them, is bounded in bytes."""

import asyncio
from collections.abc import Callable
from typing import Final

from symposium.daemon.link import Link

CLIENT_BACKLOG: Final = 8 * 1024 * 1024
"""Bytes that may wait for one client; a single line may go beyond."""

TOTAL_BACKLOG: Final = 128 * 1024 * 1024
"""Bytes that may wait for all slow clients together; the slowest goes first."""

EndConnection = Callable[[Link, str], None]
"""Ends a client's connection, for this reason."""


class Pressure:
    """Hears which links are slow, and has those cut that are too slow."""

    def __init__(self, cut: EndConnection) -> None:
        self._cut = cut
        self._slow: set[Link] = set()
        self._is_looking = False
        self._loop = asyncio.get_running_loop()

    @property
    def backlog(self) -> int:
        """Bytes that wait for slow clients."""
        return sum(link.transport.backlog for link in self._slow)

    def rises(self, link: Link) -> None:
        """More waits for this one."""
        self._slow.add(link)
        # The line that was too much is being written just now.
        waiting = link.transport.backlog
        if waiting > CLIENT_BACKLOG:
            self._loop.call_soon(self._cut, link, f"{waiting} bytes waited for it to read")
        elif not self._is_looking and len(self._slow) * CLIENT_BACKLOG > TOTAL_BACKLOG:
            self._is_looking = True
            self._loop.call_soon(self._look)

    def falls(self, link: Link) -> None:
        """This one has caught up, or is gone."""
        self._slow.discard(link)

    def _look(self) -> None:
        self._is_looking = False
        while (total := self.backlog) > TOTAL_BACKLOG:
            slowest = max(self._slow, key=_backlog_of)
            self._cut(slowest, f"{total} bytes waited for all slow clients, most of them for it")


def _backlog_of(link: Link) -> int:
    return link.transport.backlog

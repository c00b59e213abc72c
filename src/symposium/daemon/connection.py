"""One client connection, and its limits: backlog, unfinished lines, request timeouts."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from peerwire.jsonrpc.transport import OversizedLine
from peerwire.transports.fd import FdTransport
from symposium.bus.broker import Broker
from symposium.bus.routing import Action

Lines = Sequence[bytes | OversizedLine]


class DaemonLinkOwner(Protocol):
    """Receive the events of a link."""

    def received(self, link: "DaemonLink", lines: Lines) -> None:
        """Handle lines from a client, in order."""
        ...

    def slow(self, link: "DaemonLink") -> None:
        """Handle that the client reads too slowly."""
        ...

    def quick(self, link: "DaemonLink") -> None:
        """Handle that the client has caught up."""
        ...

    def gone(self, link: "DaemonLink") -> None:
        """Handle the end of the link."""
        ...


class DaemonLink:
    """A named transport that forwards its events to its owner.

    Args:
        name: of the connection.
        transport: carries its lines.
        owner: receives them.
        on_read: called after each read, which may end in the middle of a line.
    """

    def __init__(
        self,
        name: str,
        transport: FdTransport,
        owner: DaemonLinkOwner,
        on_read: Callable[["DaemonLink"], None],
    ) -> None:
        self._on_read = on_read
        self.name = name
        self.transport = transport
        self._owner = owner

    def start(self) -> None:
        """Start reading from the client."""
        self.transport.reader.tell_reads(self._read)
        self.transport.start(self)

    def _read(self, lines: Lines) -> None:
        del lines
        self._on_read(self)

    def lines_received(self, lines: Lines) -> None:
        self._owner.received(self, lines)

    def writing_paused(self) -> None:
        self._owner.slow(self)

    def writing_resumed(self) -> None:
        self._owner.quick(self)

    def ended(self, error: Exception | None) -> None:
        """Forward the event; the error of a client is not the daemon's problem."""
        del error
        self._owner.gone(self)


class RequestTimer:
    """Executes the broker's actions for requests whose deadline has passed."""

    def __init__(self, broker: Broker, carry_out: Callable[[Iterable[Action]], None]) -> None:
        self._broker = broker
        self._carry_out = carry_out
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    def watch(self) -> None:
        """Reschedule for the earliest deadline."""
        deadline = self._broker.open.next_deadline
        if deadline is None:
            return
        # The broker uses the loop's clock.
        if self._timer is None or deadline < self._timer.when():
            self.close()
            self._timer = self._loop.call_at(deadline, self._due)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        self._timer = None
        self._carry_out(self._broker.expire())
        self.watch()


CLIENT_BACKLOG: Final = 8 * 1024 * 1024
"""Bytes that may wait for one client; a single line may exceed it."""

TOTAL_BACKLOG: Final = 128 * 1024 * 1024
"""Bytes that may wait for all slow clients together; beyond it the slowest is disconnected."""

EndConnection = Callable[[DaemonLink, str], None]
"""Closes a client's connection for a reason."""


class BacklogLimiter:
    """Track slow links, and disconnect those that are too slow."""

    def __init__(self, cut: EndConnection) -> None:
        self._cut = cut
        self._slow: set[DaemonLink] = set()
        self._is_scheduled = False
        self._loop = asyncio.get_running_loop()

    @property
    def backlog(self) -> int:
        """Bytes that wait for slow clients."""
        return sum(link.transport.backlog for link in self._slow)

    def rises(self, link: DaemonLink) -> None:
        """Record that a link is slow."""
        self._slow.add(link)
        # Later: the line that exceeds the limit is being written now.
        waiting = link.transport.backlog
        if waiting > CLIENT_BACKLOG:
            self._loop.call_soon(self._cut, link, f"backlog of {waiting} bytes")
        elif not self._is_scheduled and len(self._slow) * CLIENT_BACKLOG > TOTAL_BACKLOG:
            self._is_scheduled = True
            self._loop.call_soon(self._enforce)

    def falls(self, link: DaemonLink) -> None:
        """Record that a link has caught up or closed."""
        self._slow.discard(link)

    def _enforce(self) -> None:
        self._is_scheduled = False
        while (total := self.backlog) > TOTAL_BACKLOG:
            slowest = max(self._slow, key=_backlog_of)
            self._cut(slowest, f"largest part of the total backlog of {total} bytes")


def _backlog_of(link: DaemonLink) -> int:
    return link.transport.backlog


TOTAL: Final = 64 * 1024 * 1024
"""Bytes of all unfinished lines together; beyond it the longest line's client is disconnected."""

IDLE_TIME: Final = 30.0
"""Timeout in seconds for more bytes of an unfinished line."""


class HalfLines:
    """The clients with an unfinished line.

    Args:
        cut: closes the connection of a client that sends too much or has stalled.
    """

    def __init__(self, cut: EndConnection) -> None:
        self._cut = cut
        self._sizes: dict[DaemonLink, int] = {}
        self._since: dict[DaemonLink, float] = {}
        self._total = 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_scheduled = False
        self._loop = asyncio.get_running_loop()

    @property
    def total(self) -> int:
        """Bytes of all unfinished lines."""
        return self._total

    def read(self, link: DaemonLink) -> None:
        """Update the unfinished line of a client after a read."""
        size = link.transport.reader.unfinished
        if size == 0:
            if link in self._sizes:
                self.forget(link)
            return
        self._total += size - self._sizes.get(link, 0)
        self._sizes[link] = size
        # Oldest first: a client that sends moves to the end.
        self._since.pop(link, None)
        self._since[link] = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_later(IDLE_TIME, self._expire)
        if self._total > TOTAL and not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._enforce)

    def forget(self, link: DaemonLink) -> None:
        """Remove a client that has finished its line or disconnected."""
        self._total -= self._sizes.pop(link, 0)
        self._since.pop(link, None)

    def close(self) -> None:
        """Stop the timer of the deadline for incomplete lines."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _enforce(self) -> None:
        self._is_scheduled = False
        while self._total > TOTAL:
            longest = max(self._sizes, key=self._sizes.__getitem__)
            reason = f"unfinished line of {self._sizes[longest]} of {self._total} bytes in total"
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
            self._cut(link, f"sent nothing for {IDLE_TIME:g} s in the middle of a line")

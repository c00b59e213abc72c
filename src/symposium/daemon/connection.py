"""One connection of a client, with its limits: backlog, half lines, request timers."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from peerwire.jsonrpc.transport import OversizedLine
from peerwire.transports.fd import FdTransport
from symposium.bus.broker import Broker
from symposium.bus.routing import Action

Lines = Sequence[bytes | OversizedLine]


class DaemonLinkOwner(Protocol):
    """Who is told what happens on a link."""

    def received(self, link: "DaemonLink", lines: Lines) -> None:
        """Lines have come."""
        ...

    def slow(self, link: "DaemonLink") -> None:
        """Much waits for this client."""
        ...

    def quick(self, link: "DaemonLink") -> None:
        """Little waits for it again."""
        ...

    def gone(self, link: "DaemonLink") -> None:
        """It has ended."""
        ...


class DaemonLink:
    """A transport with a name; tells its owner.

    Args:
        name: of the connection.
        transport: carries its lines.
        owner: receives them.
        on_read: called after each read, which can be of a part of a line.
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
        """Begin to read."""
        self.transport.reader.tell_reads(self._read)
        self.transport.start(self)

    def _read(self, lines: Lines) -> None:
        del lines
        self._on_read(self)

    def lines_received(self, lines: Lines) -> None:
        """Tell the owner."""
        self._owner.received(self, lines)

    def writing_paused(self) -> None:
        """Tell the owner."""
        self._owner.slow(self)

    def writing_resumed(self) -> None:
        """Tell the owner."""
        self._owner.quick(self)

    def ended(self, error: Exception | None) -> None:
        """Tell the owner; how a client ended is its own affair."""
        del error
        self._owner.gone(self)


class RequestTimer:
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


CLIENT_BACKLOG: Final = 8 * 1024 * 1024
"""Bytes that may wait for one client; a single line may go beyond."""

TOTAL_BACKLOG: Final = 128 * 1024 * 1024
"""Bytes that may wait for all slow clients together; the slowest goes first."""

EndConnection = Callable[[DaemonLink, str], None]
"""Ends a client's connection, for this reason."""


class BacklogLimiter:
    """Hears which links are slow, and has those cut that are too slow."""

    def __init__(self, cut: EndConnection) -> None:
        self._cut = cut
        self._slow: set[DaemonLink] = set()
        self._is_looking = False
        self._loop = asyncio.get_running_loop()

    @property
    def backlog(self) -> int:
        """Bytes that wait for slow clients."""
        return sum(link.transport.backlog for link in self._slow)

    def rises(self, link: DaemonLink) -> None:
        """More waits for this one."""
        self._slow.add(link)
        # The line that was too much is being written just now.
        waiting = link.transport.backlog
        if waiting > CLIENT_BACKLOG:
            self._loop.call_soon(self._cut, link, f"{waiting} bytes waited for it to read")
        elif not self._is_looking and len(self._slow) * CLIENT_BACKLOG > TOTAL_BACKLOG:
            self._is_looking = True
            self._loop.call_soon(self._look)

    def falls(self, link: DaemonLink) -> None:
        """This one has caught up, or is gone."""
        self._slow.discard(link)

    def _look(self) -> None:
        self._is_looking = False
        while (total := self.backlog) > TOTAL_BACKLOG:
            slowest = max(self._slow, key=_backlog_of)
            self._cut(slowest, f"{total} bytes waited for all slow clients, most of them for it")


def _backlog_of(link: DaemonLink) -> int:
    return link.transport.backlog


TOTAL: Final = 64 * 1024 * 1024
"""Bytes of all unfinished lines together; the client with the longest is cut."""

IDLE_TIME: Final = 30.0
"""Seconds in which more of an unfinished line must come."""


class HalfLines:
    """The clients in the middle of a line.

    Args:
        cut: ends the connection of one that holds too much, or has stopped.
    """

    def __init__(self, cut: EndConnection) -> None:
        self._cut = cut
        self._sizes: dict[DaemonLink, int] = {}
        self._since: dict[DaemonLink, float] = {}
        self._total = 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_looking = False
        self._loop = asyncio.get_running_loop()

    @property
    def total(self) -> int:
        """Bytes of all unfinished lines."""
        return self._total

    def read(self, link: DaemonLink) -> None:
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

    def forget(self, link: DaemonLink) -> None:
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

"""Carry out what the broker decides: lines from links to links, and the ends of links."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Final

from peerwire.transports.fd import FdTransport
from symposium.bus.broker import Broker
from symposium.bus.envelope import Envelope
from symposium.bus.messages.broker import Cut
from symposium.bus.peers import SocketKind
from symposium.bus.routing import Action, Close, Deliver, Warn
from symposium.daemon.connection import BacklogLimiter, DaemonLink, HalfLines, Lines, RequestTimer

HELLO_TIME: Final = 10.0
"""Timeout in seconds for a client's hello."""

CLOSE_TIME: Final = 1.0
"""Timeout in seconds for a disconnected peer to read the reason."""

CUTS_KEPT: Final = 32
"""Forced disconnects that `daemon status` shows."""

_log = logging.getLogger(__name__)

TakeLines = Callable[[bytes], object]
"""Sends joined lines to one connection."""

TakeEnvelope = Callable[[Envelope], None]
"""Delivers a message inside the daemon."""


class ConnectionTable:
    """Links by name, and the broker; lines of one read are written together."""

    def __init__(self, broker: Broker, on_change: Callable[[int], None]) -> None:
        self.broker = broker
        self.cuts: deque[Cut] = deque(maxlen=CUTS_KEPT)
        self._on_change = on_change
        self._links: dict[str, DaemonLink] = {}
        self._senders: dict[str, TakeLines] = {}
        self._local: dict[str, TakeEnvelope] = {}
        self._count = 0
        self._closing = asyncio.TaskGroup()
        self._loop = asyncio.get_running_loop()
        self.pressure = BacklogLimiter(self._cut)
        self.half_lines = HalfLines(self._cut)
        self._deadlines = RequestTimer(broker, self.carry_out)

    async def run(self) -> None:
        """Own the closing links until canceled; then close all."""
        cancellation: asyncio.CancelledError | None = None
        async with self._closing:
            try:
                await self._loop.create_future()
            except asyncio.CancelledError as error:
                # Raised after the group: an error inside would cancel the tasks that close links.
                cancellation = error
            self._deadlines.close()
            self.half_lines.close()
            for link in list(self._links.values()):
                self._closing.create_task(link.transport.aclose(grace=CLOSE_TIME))
        if cancellation is not None:
            raise cancellation

    def enter(self, name: str, take_lines: TakeLines, take_envelope: TakeEnvelope) -> None:
        """Deliver messages for this name inside the daemon, parsed ones as envelopes."""
        self._senders[name] = take_lines
        self._local[name] = take_envelope

    def connect(self, transport: FdTransport, socket_kind: SocketKind) -> None:
        self._count += 1
        name = f"{'v' if socket_kind is SocketKind.COMPAT else 'c'}{self._count}"
        link = DaemonLink(name, transport, self, self.half_lines.read)
        self._links[name] = link
        self._senders[name] = transport.send
        self.broker.connected(name, socket_kind, time.time())
        if socket_kind is SocketKind.BUS:
            self._loop.call_later(HELLO_TIME, self._expect_hello, link)
        self._on_change(len(self._links))
        link.start()

    def received(self, link: DaemonLink, lines: Lines) -> None:
        """Route the lines of a client."""
        self.route(link.name, lines)

    def route(self, name: str, message: Lines | Envelope) -> None:
        """Pass each line, or a message of the daemon, to the broker; execute its actions."""
        now = time.time()
        if isinstance(message, Envelope):
            self.carry_out(self.broker.receive(name, message, now))
        else:
            receive = self.broker.receive
            self.carry_out(chain.from_iterable(receive(name, line, now) for line in message))
        self._deadlines.watch()

    def carry_out(self, actions: Iterable[Action]) -> None:
        """Execute the broker's actions; lines to the same connections are written together."""
        to: tuple[str, ...] = ()
        held: list[bytes] = []
        for action in actions:
            if isinstance(action, Deliver) and action.envelope is None:
                if action.connections is to:
                    held.append(action.line)
                    continue
                self._write(to, held)
                to, held = action.connections, [action.line]
                continue
            self._write(to, held)
            to, held = (), []
            match action:
                case Deliver(connections, line, envelope):
                    local = self._local.get(connections[0])
                    if envelope is not None and local is not None:
                        local(envelope)
                    else:
                        self._write(connections, [line])
                case Close():
                    self._disconnect(action.connection, action.reason)
                case Warn():
                    _log.warning("%s", action.text)
        self._write(to, held)

    def slow(self, link: DaemonLink) -> None:
        """Handle a slow client."""
        self.pressure.rises(link)

    def quick(self, link: DaemonLink) -> None:
        """Handle a client that has caught up."""
        self.pressure.falls(link)

    def gone(self, link: DaemonLink) -> None:
        """Handle the end of a client's connection."""
        link.transport.close()
        self._forget(link)

    def _write(self, to: tuple[str, ...], lines: list[bytes]) -> None:
        if not lines:
            return
        data = lines[0] if len(lines) == 1 else b"\n".join(lines)
        senders = self._senders
        for name in to:
            send = senders.get(name)
            if send is not None:
                send(data)

    def _forget(self, link: DaemonLink) -> None:
        if self._links.pop(link.name, None) is None:
            return
        del self._senders[link.name]
        self.pressure.falls(link)
        self.half_lines.forget(link)
        self.carry_out(self.broker.disconnected(link.name))
        self._on_change(len(self._links))

    def _cut(self, link: DaemonLink, reason: str) -> None:
        if link.name not in self._links:
            return
        peer = self.broker.peers.get(link.name)
        name = link.name if peer is None else peer.name
        _log.warning("disconnected %s (%s): %s", name, link.name, reason)
        self.cuts.append(Cut(at=time.time(), name=name, reason=reason))
        if peer is not None:
            self.broker.requests.remember_end(peer, reason)
        link.transport.close()
        self._forget(link)

    def _disconnect(self, name: str, reason: str) -> None:
        link = self._links.get(name)
        if link is None:
            return
        _log.info("disconnected %s: %s", name, reason)
        self._forget(link)
        self._closing.create_task(link.transport.aclose(grace=CLOSE_TIME))

    def _expect_hello(self, link: DaemonLink) -> None:
        peer = self.broker.peers.get(link.name)
        if peer is not None and peer.hello is None:
            self._disconnect(link.name, f"no hello came within {HELLO_TIME:g} s")

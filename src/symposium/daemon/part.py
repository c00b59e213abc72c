"""A part of the daemon, the daemon's own peer, and the owner of the state.

A part is one module under `daemon/parts/` that makes one `PartSpec`:

    class Taskspaces:
        def answers(self) -> HandlerTable:                   # see symposium.bus.handlers
            handlers = HandlerTable()
            handlers.on_request(SpawnTaskspace, self._spawn)
            return handlers

        async def run(self, bus: LocalPeer) -> None:
            async with asyncio.TaskGroup() as tasks:         # background work
                ...

        def is_busy(self) -> bool:
            return bool(self._agents)                        # keeps the daemon running

    spec = PartSpec("taskspaces", lambda context: Taskspaces(context.home))

`answers` is called once, before any client can connect. `run` is canceled when the daemon stops,
and has `PART_GRACE` seconds to save its state; if it raises, the daemon reports that and stops.
`bus` sends messages as the daemon: `announce` to subscribers, `request` to a handler; `windows`
lists the connected views of users. Parts are independent of each other.

Two daemons at two sockets may share a home, but only one works on its tasks: otherwise, the other
would wait for the first one to stop, without a reason for its clients.
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from msgspec import DecodeError, Struct, ValidationError, json

from localio.files import write_whole
from symposium.bus.endpoint import BusEndpoint
from symposium.bus.envelope import DAEMON_SENDER, Envelope
from symposium.bus.handlers import HandlerTable
from symposium.bus.messages.broker import PROTOCOL, Hello, Present
from symposium.bus.peers import BusPeer, SocketKind
from symposium.bus.protocol import Announcement, Role
from symposium.daemon.connection_table import ConnectionTable

PART_GRACE: Final = 5.0
"""Timeout in seconds for a part to stop."""

DAEMON: Final = "daemon"
"""Name of the daemon itself in the broker."""


class LocalPeer(BusEndpoint):
    """The daemon's own endpoint on the bus, for its parts."""

    def __init__(self, board: ConnectionTable, answers: HandlerTable) -> None:
        super().__init__(answers, DAEMON_SENDER, self._route)
        self._board = board
        hello = Hello(
            protocol=PROTOCOL,
            role=Role.DAEMON,
            name=DAEMON,
            handles=answers.handles,
            subscribes=answers.subscribes,
        )
        peer = BusPeer(DAEMON, SocketKind.BUS, time.time(), DAEMON)
        peer.accept_hello(hello)
        board.broker.peers.add(peer)
        board.enter(DAEMON, self._take_lines, self.take)

    def windows(self) -> Sequence[Present]:
        """The users' views among them, without those that stopped sending heartbeats."""
        now = time.time()
        peers = [each for each in self._board.broker.peers if not each.is_silent(now)]
        return [shown for each in peers if (shown := each.present()).kind is not None]

    def register_window(self, connection: str, taskspace: str, title: str) -> None:
        """Record that a connection's window shows a taskspace, while it is connected."""
        broker = self._board.broker
        self._board.carry_out(broker.requests.register_window(connection, taskspace, title))

    def has_subscribers(self, kind: type[Announcement]) -> bool:
        """Whether a connected peer subscribes to announcements of this class."""
        return bool(self._board.broker.peers.subscribers(kind.about.type))

    def _route(self, envelope: Envelope) -> bool:
        self._board.route(DAEMON, envelope)
        return True

    def _take_lines(self, lines: bytes) -> None:
        # Lines for several receivers are joined; a line of JSON contains no newline.
        for line in lines.split(b"\n"):
            self.take(line)


class Part(Protocol):
    """Component of the daemon that handles messages while the daemon runs."""

    def answers(self) -> HandlerTable:
        """Return handlers of messages."""
        ...

    async def run(self, bus: LocalPeer) -> None:
        """Do background work until the daemon cancels it."""
        ...

    def is_busy(self) -> bool:
        """Whether it has work although no client is connected."""
        ...


@dataclass(frozen=True, slots=True)
class PartContext:
    """Context for creating a part.

    Attributes:
        home: the state directory, `~/.symposium`.
        socket: of the daemon.
    """

    home: Path
    socket: Path


@dataclass(frozen=True, slots=True)
class PartSpec:
    """Definition of a part.

    Attributes:
        name: of its module.
        make: creates it; must not block or start anything.
    """

    name: str
    make: Callable[[PartContext], Part]


_FILE: Final = "taskspaces.daemon"


class _Mark(Struct, frozen=True):
    pid: int
    socket: str


class StateOwnerFile:
    """File that names the daemon which owns the tasks.

    Args:
        home: the state directory.
        socket: of this daemon.
    """

    def __init__(self, home: Path, socket: Path) -> None:
        self._file = home / _FILE
        self._ours = _Mark(os.getpid(), str(socket))

    def put(self) -> None:
        """Record this daemon as the owner.

        Raises:
            OSError: it cannot be written.
        """
        write_whole(self._file, json.encode(self._ours))

    def remove(self) -> None:
        """Remove the record if it names this daemon."""
        if self._read() == self._ours:
            self._file.unlink(missing_ok=True)

    def other(self) -> tuple[int, str] | None:
        """Process id and socket of another live owner; one at the same socket is exiting."""
        found = self._read()
        if found is None or found.socket == self._ours.socket or not Path(found.socket).exists():
            return None
        try:
            os.kill(found.pid, 0)
        except ProcessLookupError:
            return None
        return found.pid, found.socket

    def _read(self) -> _Mark | None:
        with suppress(OSError, DecodeError, ValidationError):
            return json.decode(self._file.read_bytes(), type=_Mark)
        return None

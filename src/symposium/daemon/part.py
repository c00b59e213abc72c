"""A part of the daemon, the daemon's own peer, and the owner of the state.

A part is one module under `daemon/parts/` that makes one `PartSpec`:

    class Taskspaces:
        def answers(self) -> Answers:
            answers = Answers()
            answers.to(SpawnTaskspace, self._spawn)          # see symposium.bus.handlers
            return answers

        async def run(self, bus: LocalPeer) -> None:
            async with asyncio.TaskGroup() as tasks:         # whatever it does besides
                ...

        def is_busy(self) -> bool:
            return bool(self._agents)                        # the daemon does not end meanwhile

    spec = PartSpec("taskspaces", lambda surroundings: Taskspaces(surroundings.home))

`answers` is called once, before anybody can connect. `run` is cancelled when the daemon ends, and
has `PART_GRACE` seconds to put away what must not be lost; if it raises, the daemon says so and
ends. `bus` speaks for the daemon: `announce` reaches whoever subscribes, `request` whoever answers,
`windows` lists the connected views of users. No part knows of another.

Two daemons at two sockets may share a home, but only one works on its tasks: the other would wait
for as long as that one lives, and whoever asks it should hear why.
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
"""Seconds that a part has to end in."""

DAEMON: Final = "daemon"
"""The broker's name for the daemon itself."""


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
        seat = BusPeer(DAEMON, SocketKind.BUS, time.time(), DAEMON)
        seat.accept_hello(hello)
        board.broker.peers.add(seat)
        board.enter(DAEMON, self._take_lines, self.take)

    def windows(self) -> Sequence[Present]:
        """The views of users among them, without those that stopped sending heartbeats."""
        now = time.time()
        peers = [each for each in self._board.broker.peers if not each.is_silent(now)]
        return [shown for each in peers if (shown := each.present()).kind is not None]

    def register_window(self, connection: str, taskspace: str, title: str) -> None:
        """Note that a connection's window shows a taskspace, for as long as it is connected."""
        broker = self._board.broker
        self._board.carry_out(broker.requests.register_window(connection, taskspace, title))

    def is_heard(self, kind: type[Announcement]) -> bool:
        """Whether a connected peer subscribes to announcements of this class."""
        return bool(self._board.broker.peers.subscribers(kind.about.type))

    def _route(self, envelope: Envelope) -> bool:
        self._board.route(DAEMON, envelope)
        return True

    def _take_lines(self, lines: bytes) -> None:
        # Lines for several hearers are joined; no line of JSON holds a newline.
        for line in lines.split(b"\n"):
            self.take(line)


class Part(Protocol):
    """One part of the daemon."""

    def answers(self) -> HandlerTable:
        """The messages it answers."""
        ...

    async def run(self, bus: LocalPeer) -> None:
        """Live until cancelled."""
        ...

    def is_busy(self) -> bool:
        """Whether it has something to do though nobody is connected."""
        ...


@dataclass(frozen=True, slots=True)
class PartContext:
    """What a part may know of where it lives.

    Attributes:
        home: the directory of state, `~/.symposium`.
        socket: where the daemon listens.
    """

    home: Path
    socket: Path


@dataclass(frozen=True, slots=True)
class PartSpec:
    """How a part is made.

    Attributes:
        name: its module's.
        make: makes it; must not block, and must not start anything.
    """

    name: str
    make: Callable[[PartContext], Part]


_FILE: Final = "taskspaces.daemon"


class _Mark(Struct, frozen=True):
    pid: int
    socket: str


class StateOwnerFile:
    """The mark of one daemon.

    Args:
        home: the directory of state.
        socket: where this daemon listens.
    """

    def __init__(self, home: Path, socket: Path) -> None:
        self._file = home / _FILE
        self._ours = _Mark(os.getpid(), str(socket))

    def put(self) -> None:
        """Say that it is this one.

        Raises:
            OSError: it cannot be written.
        """
        write_whole(self._file, json.encode(self._ours))

    def take_away(self) -> None:
        """Say it no longer."""
        if self._read() == self._ours:
            self._file.unlink(missing_ok=True)

    def other(self) -> tuple[int, str] | None:
        """The process and the socket of another that lives; one at our socket is just leaving."""
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

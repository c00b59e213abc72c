"""The daemon's own seat on its bus: what its parts answer, ask and announce."""

import time
from collections.abc import Sequence
from typing import Final, TypeVar

from symposium.bus.endpoint import Exchange, OnProgress
from symposium.bus.envelope import DAEMON_SENDER, Address, Envelope
from symposium.bus.handlers import Answers
from symposium.bus.messages.broker import PROTOCOL, Hello, Present
from symposium.bus.peers import Door, Peer
from symposium.bus.protocol import GIVEN, Announcement, Request, Role
from symposium.daemon.switchboard import Switchboard

DAEMON: Final = "daemon"
"""The broker's name for the daemon itself."""

_Answer = TypeVar("_Answer")


class Inside:
    """Implements `Bus` for the parts; `run` owns the answers at work."""

    def __init__(self, board: Switchboard, answers: Answers) -> None:
        self._board = board
        self._exchange = Exchange(answers, DAEMON_SENDER, self._send)
        hello = Hello(
            protocol=PROTOCOL,
            role=Role.DAEMON,
            name=DAEMON,
            handles=answers.handles,
            subscribes=answers.subscribes,
        )
        seat = Peer(DAEMON, Door.BUS, time.time(), DAEMON)
        seat.let_in(hello)
        board.broker.peers.add(seat)
        board.enter(DAEMON, self._take, self._exchange.take)

    async def run(self) -> None:
        """Own the answers at work until cancelled."""
        await self._exchange.run()

    async def request(
        self,
        message: Request[_Answer],
        *,
        to: Address | None = None,
        on_progress: OnProgress | None = None,
        patience: float | None = None,
    ) -> _Answer:
        """Ask a peer, and wait for its reply.

        Raises:
            BusRefusedError: the answer is an error; `no_handler` comes at once.
        """
        ask = self._exchange.request
        return await ask(message, to=to, on_progress=on_progress, patience=patience)

    def announce(self, message: Announcement, *, to: Address | None = None) -> None:
        """Tell whoever listens."""
        self._exchange.announce(message, to=to)

    def peers(self) -> Sequence[Present]:
        """Who is connected at this moment, and where."""
        return [each.present() for each in self._board.broker.peers if each.role not in GIVEN]

    def windows(self) -> Sequence[Present]:
        """The views of users among them, without those that stopped sending heartbeats."""
        now = time.time()
        peers = [each for each in self._board.broker.peers if not each.is_silent(now)]
        return [shown for each in peers if (shown := each.present()).kind is not None]

    def register_window(self, connection: str, taskspace: str, title: str) -> None:
        """Note that a connection's window shows a taskspace, for as long as it is connected."""
        broker = self._board.broker
        self._board.carry_out(broker.desk.register_window(connection, taskspace, title))

    def is_heard(self, kind: type[Announcement]) -> bool:
        """Whether a connected peer subscribes to announcements of this class."""
        return bool(self._board.broker.peers.subscribers(kind.about.type))

    def _send(self, envelope: Envelope) -> bool:
        self._board.route(DAEMON, envelope)
        return True

    def _take(self, lines: bytes) -> None:
        # Lines for several hearers are joined; no line of JSON holds a newline.
        for line in lines.split(b"\n"):
            self._exchange.take(line)

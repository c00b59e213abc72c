"""What can be plugged into the daemon: a part answers messages, and has a life of its own.

A part is one module under `daemon/parts/` that makes one `PartSpec`:

    class Taskspaces:
        def answers(self) -> Answers:
            answers = Answers()
            answers.to(SpawnTaskspace, self._spawn)          # see symposium.bus.handlers
            return answers

        async def run(self, bus: Bus) -> None:
            async with asyncio.TaskGroup() as tasks:         # whatever it does besides
                ...

        def is_busy(self) -> bool:
            return bool(self._agents)                        # the daemon does not end meanwhile

    spec = PartSpec("taskspaces", lambda surroundings: Taskspaces(surroundings.home))

`answers` is called once, before anybody can connect. `run` is cancelled when the daemon ends, and
has `PART_GRACE` seconds to put away what must not be lost; if it raises, the daemon says so and
ends. `bus` speaks for the daemon: `announce` reaches whoever subscribes, `request` whoever answers,
`peers` is who is there at this moment. No part knows of another.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeVar

from symposium.bus.endpoint import OnProgress
from symposium.bus.envelope import Address
from symposium.bus.handlers import Answers
from symposium.bus.messages.broker import Present
from symposium.bus.protocol import Announcement, Request

PART_GRACE: Final = 5.0
"""Seconds that a part has to end in."""

_Answer = TypeVar("_Answer")


class Bus(Protocol):
    """The bus, as a part of the daemon sees it."""

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
        ...

    def announce(self, message: Announcement, *, to: Address | None = None) -> None:
        """Tell whoever listens."""
        ...

    def peers(self) -> Sequence[Present]:
        """Who is connected at this moment, and where."""
        ...

    def windows(self) -> Sequence[Present]:
        """The views of users among them, without those that stopped sending heartbeats."""
        ...

    def register_window(self, connection: str, taskspace: str, title: str) -> None:
        """Note that a connection's window shows a taskspace, for as long as it is connected."""
        ...

    def is_heard(self, kind: type[Announcement]) -> bool:
        """Whether a connected peer subscribes to announcements of this class."""
        ...


class Part(Protocol):
    """One part of the daemon."""

    def answers(self) -> Answers:
        """The messages it answers."""
        ...

    async def run(self, bus: Bus) -> None:
        """Live until cancelled."""
        ...

    def is_busy(self) -> bool:
        """Whether it has something to do though nobody is connected."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
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
    make: Callable[[Surroundings], Part]

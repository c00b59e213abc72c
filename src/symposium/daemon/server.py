"""The daemon: its socket, and its end when it is idle."""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Final
from uuid import uuid4

from localio.redaction import Redactor, secret_values
from peerwire.transports.fd import FdTransport
from peerwire.transports.unix import UnixListener, serve_unix
from symposium.bus.broker import Broker
from symposium.bus.broker_requests import BusHistory
from symposium.bus.connect import DaemonAddress, DaemonOptions
from symposium.bus.envelope import MAX_LINE
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.broker import (
    PROTOCOL,
    DaemonInfo,
    DaemonStatus,
    LatencyReport,
    StopDaemon,
)
from symposium.bus.messages.editor import ReloadWindow
from symposium.bus.peers import SocketKind
from symposium.bus.protocol import ASSIGNED_ROLES, Ack
from symposium.bus.routing import Parts, ResponseTime
from symposium.daemon.connection_table import ConnectionTable
from symposium.daemon.instance_lock import starting
from symposium.daemon.part import PART_GRACE, LocalPeer, Part


class IdleTimer:
    """Counts who is there; a time of 0 seconds means that the daemon never ends by itself."""

    def __init__(self, timeout: float, now: float) -> None:
        self._timeout = timeout or inf
        self._here = 0
        self._since = now

    def came(self) -> None:
        """Somebody has connected."""
        self._here += 1

    def left(self, now: float) -> None:
        """Somebody has gone."""
        self._here -= 1
        self._since = now

    def busy(self, now: float) -> None:
        """There was something to do at this moment."""
        self._since = now

    @property
    def due(self) -> float:
        """When nobody will have been there for long enough; infinite while somebody is."""
        return inf if self._here else self._since + self._timeout

    def is_due(self, now: float) -> bool:
        """Whether that is now."""
        return now >= self.due


WAITING: Final = 4096
"""Connections the kernel keeps until they are taken: a thousand may come at once."""

FRESH: Final = 2.0
"""Seconds for which a canonical path is reused: a link may be changed at any time."""

MAX_PATHS: Final = 4096
"""Paths whose canonical form is remembered."""

LOOK: Final = 5.0
"""Seconds between two looks at what no event tells: is the socket still ours, is a part busy?"""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DaemonConfig:
    """What a daemon is made of.

    Attributes:
        place: where it is met; claimed.
        options: what it was told.
        parts: what is plugged in, by name.
        clock: seconds, for idleness alone.
        grace: seconds in which the parts must end.
        abandon: ends the process although a part has not ended.
    """

    place: DaemonAddress
    options: DaemonOptions
    parts: dict[str, Part]
    clock: Callable[[], float] = time.monotonic
    grace: float = PART_GRACE
    abandon: Callable[[], None] = field(default_factory=lambda: exit_now)


class Daemon:
    """Made within `starting`, so that nobody finds it half made; `run` is its life."""

    def __init__(self, setting: DaemonConfig) -> None:
        self._setting = setting
        self._idle = IdleTimer(setting.options.idle_timeout, setting.clock())
        self._here = 0
        self._started = time.time()
        history = BusHistory(Redactor(secret_values(os.environ)), messages=setting.options.history)
        broker = Broker(time.monotonic, canonical=RealPaths(), history=history, boot=str(uuid4()))
        self.board = ConnectionTable(broker, self._counted)
        self._over = asyncio.Event()
        answers = self._answers()
        self._handled = answers.handles
        self._inside = LocalPeer(self.board, answers)
        self._listener = self._listen(setting.place.socket, SocketKind.BUS)
        compat = setting.options.compat_socket
        self._compat = None if compat is None else self._listen(compat, SocketKind.COMPAT)

    def stop(self) -> None:
        """End, after telling editors."""
        self._over.set()

    async def run(self) -> None:
        """Serve until `stop`, or until nobody has needed it for long enough."""
        async with asyncio.TaskGroup() as tasks:
            board = tasks.create_task(self.board.run())
            inside = tasks.create_task(self._inside.run())
            parts = {
                tasks.create_task(part.run(self._inside)): name
                for name, part in self._setting.parts.items()
            }
            looking = tasks.create_task(self._look())
            try:
                await self._over.wait()
                self._inside.announce(ReloadWindow())
            finally:
                self._close_doors()
                for task in (looking, *parts):
                    task.cancel()
                if parts:
                    await self._end_of(parts)
                for task in (inside, board):
                    task.cancel()

    async def _end_of(self, parts: Mapping[asyncio.Task[None], str]) -> None:
        """Wait for the end of the parts; exit without those that do not end in time.

        What they have not finished is journaled, and the next daemon recovers it.
        """
        grace = self._setting.grace
        _, late = await asyncio.wait(parts, timeout=grace)
        if late:
            names = ", ".join(sorted(parts[each] for each in late))
            _log.error("exiting although %s did not stop within %g s", names, grace)
            # The task group, and the event loop after it, would wait for them without a limit.
            self._setting.abandon()

    def _parts(self) -> Iterable[Part]:
        return self._setting.parts.values()

    def _listen(self, path: Path, door: SocketKind) -> UnixListener:
        def connected(transport: FdTransport, uid: int) -> None:
            if uid != os.getuid():
                _log.warning("user %d was refused at %s", uid, path)
                transport.close()
                return
            self.board.connect(transport, door)

        return serve_unix(path, connected, limit=MAX_LINE, waiting=WAITING)

    def _counted(self, here: int) -> None:
        while self._here < here:
            self._here += 1
            self._idle.came()
        while self._here > here:
            self._here -= 1
            self._idle.left(self._setting.clock())

    async def _look(self) -> None:
        while True:
            wait = min(LOOK, max(0.0, self._idle.due - self._setting.clock()))
            await asyncio.sleep(wait if wait < inf else LOOK)
            now = self._setting.clock()
            if any(part.is_busy() for part in self._parts()):
                self._idle.busy(now)
            if not self._listener.is_reachable():
                _log.error("the socket %s is gone", self._setting.place.socket)
                self.stop()
            elif self._idle.is_due(now) and self.leave():
                _log.info("nobody has been here for %g s", self._setting.options.idle_timeout)
                self.stop()

    def leave(self) -> bool:
        """Take the socket away, unless somebody has connected meanwhile."""
        path = self._setting.place.socket
        aside = path.with_name(path.name + ".leaving")
        with starting(self._setting.place):
            if not self._listener.is_reachable():
                return True
            # From now on who comes finds no socket, and starts a daemon once we let go of the lock.
            path.rename(aside)
            if not self._listener.take_waiting():
                self._listener.close()
                aside.unlink()
                return True
            aside.rename(path)
            return False

    def _close_doors(self) -> None:
        with suppress(OSError), starting(self._setting.place):
            self._listener.close()
            if self._compat is not None:
                self._compat.close()

    def _answers(self) -> HandlerTable:
        answers = HandlerTable()
        answers.on_request(DaemonStatus, self._status)
        answers.on_request(StopDaemon, self._stop)
        for part in self._parts():
            answers.extend(part.answers())
        return answers

    async def _stop(self, message: StopDaemon, asked: RequestContext) -> Ack:
        _log.info("stopped by %s, asked with %s", asked.by, message.about.type)
        with suppress(OSError):
            # Whoever comes back by itself, as keepers do, is not to start the next one.
            self._setting.place.stopped.touch(mode=0o600)
            self._setting.place.options.unlink(missing_ok=True)
        # After the answer, which is sent when this function returns.
        asyncio.get_running_loop().call_later(0, self.stop)
        return Ack()

    async def _status(self, message: DaemonStatus, asked: RequestContext) -> DaemonInfo:
        del message, asked
        broker, options = self.board.broker, self._setting.options
        compat = options.compat_socket
        return DaemonInfo(
            pid=os.getpid(),
            protocol=PROTOCOL,
            started=self._started,
            socket=str(self._setting.place.socket),
            compat_socket=None if compat is None else str(compat),
            memory=memory(),
            connections=sum(
                each.role not in ASSIGNED_ROLES or each.is_legacy for each in broker.peers
            ),
            open_requests=len(broker.open),
            messages=broker.messages,
            backlog=self.board.pressure.backlog,
            handles=tuple(sorted(self._handled)),
            parts=tuple(self._setting.parts),
            cuts=tuple(self.board.cuts),
            latencies=latencies(broker.open.took),
        )


def latencies(took: Mapping[str, ResponseTime]) -> tuple[LatencyReport, ...]:
    """How long answers have taken, for people and programs."""
    return tuple(
        LatencyReport(
            type=type_,
            count=each.count,
            mean_ms=round(each.total / each.count * 1000, 3),
            worst_ms=round(each.worst * 1000, 3),
        )
        for type_, each in sorted(took.items())
    )


def memory() -> int:
    """Bytes of ours that are in memory; 0 where the system does not say."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def exit_now() -> None:
    """End the process at once; the log is complete."""
    logging.shutdown()
    os._exit(os.EX_SOFTWARE)


class RealPaths:
    """Canonical paths: links followed, dots removed. An answer is reused for `FRESH` seconds.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[str, tuple[float, Parts]] = {}

    def __call__(self, path: str) -> Parts | None:
        """The components of an absolute path; None for any other text."""
        if not path.startswith("/") or "\0" in path:
            return None
        now = self._clock()
        known = self._known.get(path)
        if known is not None and now - known[0] < FRESH:
            return known[1]
        if len(self._known) >= MAX_PATHS:
            self._known.clear()
        parts = tuple(part for part in os.path.realpath(path).split("/") if part)
        self._known[path] = (now, parts)
        return parts

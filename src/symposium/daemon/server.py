"""The daemon: its socket, and its exit when it is idle."""

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
from symposium.bus.daemon_options import DaemonOptions
from symposium.bus.daemon_start import DaemonAddress
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
    """Track idleness by counting clients; with a timeout of 0, the daemon never exits itself."""

    def __init__(self, timeout: float, now: float) -> None:
        self._timeout = timeout or inf
        self._clients = 0
        self._since = now

    def came(self) -> None:
        """Record a new client."""
        self._clients += 1

    def left(self, now: float) -> None:
        """Record that a client has disconnected."""
        self._clients -= 1
        self._since = now

    def busy(self, now: float) -> None:
        """Restart the idle timeout."""
        self._since = now

    @property
    def due(self) -> float:
        """Time when the timeout is reached; infinite while a client is connected."""
        return inf if self._clients else self._since + self._timeout

    def is_due(self, now: float) -> bool:
        """Whether the timeout is reached."""
        return now >= self.due


WAITING: Final = 4096
"""Backlog of the listening socket: a thousand clients may connect at once."""

CACHE_SECONDS: Final = 2.0
"""Seconds for which a canonical path is reused: links may change at any time."""

MAX_PATHS: Final = 4096
"""Number of remembered canonical paths."""

POLL_INTERVAL: Final = 5.0
"""Interval in seconds for polling: is the socket still there, is a part busy?"""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DaemonConfig:
    """Settings of a daemon.

    Attributes:
        place: address of the daemon, locked by the caller.
        options: options of the command line.
        parts: components, by name.
        clock: current time in seconds, for idleness only.
        grace: timeout in seconds for the parts to stop.
        abandon: kills the process, even if a part is still running.
    """

    place: DaemonAddress
    options: DaemonOptions
    parts: dict[str, Part]
    clock: Callable[[], float] = time.monotonic
    grace: float = PART_GRACE
    abandon: Callable[[], None] = field(default_factory=lambda: exit_now)


class Daemon:
    """Create it within `starting`, so that no client finds it half ready; then call `run`."""

    def __init__(self, setting: DaemonConfig) -> None:
        self._setting = setting
        self._idle = IdleTimer(setting.options.idle_timeout, setting.clock())
        self._clients = 0
        self._started = time.time()
        history = BusHistory(Redactor(secret_values(os.environ)), messages=setting.options.history)
        broker = Broker(time.monotonic, canonical=RealPaths(), history=history, boot=str(uuid4()))
        self.board = ConnectionTable(broker, self._counted)
        self._stopped = asyncio.Event()
        answers = self._answers()
        self._handled = answers.handles
        self._inside = LocalPeer(self.board, answers)
        self._listener = self._listen(setting.place.socket, SocketKind.BUS)
        compat = setting.options.compat_socket
        self._compat = None if compat is None else self._listen(compat, SocketKind.COMPAT)

    def stop(self) -> None:
        """Stop; notify editors first."""
        self._stopped.set()

    async def run(self) -> None:
        """Serve until `stop`, or until the idle timeout."""
        async with asyncio.TaskGroup() as tasks:
            board = tasks.create_task(self.board.run())
            inside = tasks.create_task(self._inside.run())
            parts = {
                tasks.create_task(part.run(self._inside)): name
                for name, part in self._setting.parts.items()
            }
            watching = tasks.create_task(self._watch())
            try:
                await self._stopped.wait()
                self._inside.announce(ReloadWindow())
            finally:
                self._close_sockets()
                for task in (watching, *parts):
                    task.cancel()
                if parts:
                    await self._end_of(parts)
                for task in (inside, board):
                    task.cancel()

    async def _end_of(self, parts: Mapping[asyncio.Task[None], str]) -> None:
        """Wait for the parts to stop; after the timeout, exit without waiting for the rest.

        The next daemon finishes their interrupted work from the journal.
        """
        grace = self._setting.grace
        _, late = await asyncio.wait(parts, timeout=grace)
        if late:
            names = ", ".join(sorted(parts[each] for each in late))
            _log.error("exiting although %s did not stop within %g s", names, grace)
            # Kill the process: the task group and the event loop have no timeout.
            self._setting.abandon()

    def _parts(self) -> Iterable[Part]:
        return self._setting.parts.values()

    def _listen(self, path: Path, socket_kind: SocketKind) -> UnixListener:
        def connected(transport: FdTransport, uid: int) -> None:
            if uid != os.getuid():
                _log.warning("rejected a connection of user %d at %s", uid, path)
                transport.close()
                return
            self.board.connect(transport, socket_kind)

        return serve_unix(path, connected, limit=MAX_LINE, waiting=WAITING)

    def _counted(self, here: int) -> None:
        while self._clients < here:
            self._clients += 1
            self._idle.came()
        while self._clients > here:
            self._clients -= 1
            self._idle.left(self._setting.clock())

    async def _watch(self) -> None:
        while True:
            wait = min(POLL_INTERVAL, max(0.0, self._idle.due - self._setting.clock()))
            await asyncio.sleep(wait if wait < inf else POLL_INTERVAL)
            now = self._setting.clock()
            if any(part.is_busy() for part in self._parts()):
                self._idle.busy(now)
            if not self._listener.is_reachable():
                _log.error("the socket %s is missing", self._setting.place.socket)
                self.stop()
            elif self._idle.is_due(now) and self.leave():
                _log.info("idle for %g s, exiting", self._setting.options.idle_timeout)
                self.stop()

    def leave(self) -> bool:
        """Remove the socket, unless a client has connected meanwhile."""
        path = self._setting.place.socket
        aside = path.with_name(path.name + ".leaving")
        with starting(self._setting.place):
            if not self._listener.is_reachable():
                return True
            # From now on, a client finds no socket and starts a daemon once the lock is free.
            path.rename(aside)
            if not self._listener.take_waiting():
                self._listener.close()
                aside.unlink()
                return True
            aside.rename(path)
            return False

    def _close_sockets(self) -> None:
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
        _log.info("stopped by %s, requested with %s", asked.by, message.about.type)
        with suppress(OSError):
            # Clients that reconnect automatically must not start the next daemon.
            self._setting.place.stopped.touch(mode=0o600)
            self._setting.place.options.unlink(missing_ok=True)
        # After the response, which is sent when this function returns.
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
            latencies=latencies(broker.open.response_times),
        )


def latencies(took: Mapping[str, ResponseTime]) -> tuple[LatencyReport, ...]:
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
    """Resident memory of this process in bytes; 0 if unknown."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def exit_now() -> None:
    """Exit immediately, after flushing the logs."""
    logging.shutdown()
    os._exit(os.EX_SOFTWARE)


class RealPaths:
    """Resolve canonical paths; results are reused for `CACHE_SECONDS` seconds.

    Args:
        clock: current time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[str, tuple[float, Parts]] = {}

    def __call__(self, path: str) -> Parts | None:
        """Return the components of an absolute path; None for any other text."""
        if not path.startswith("/") or "\0" in path:
            return None
        now = self._clock()
        known = self._known.get(path)
        if known is not None and now - known[0] < CACHE_SECONDS:
            return known[1]
        if len(self._known) >= MAX_PATHS:
            self._known.clear()
        parts = tuple(part for part in os.path.realpath(path).split("/") if part)
        self._known[path] = (now, parts)
        return parts

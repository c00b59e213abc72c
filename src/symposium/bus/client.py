"""Bus client of a program: find or start the daemon, and reconnect when the connection is lost.

identity = Identity(Role.MCP_SERVER, "mcp-server", Sender("/where/it/works"))
async with BusClient(identity, answers) as bus:
    await bus.ready()                                   # optional: fail early
    info = await bus.request(TaskspaceState(taskspace_uuid=..., project_path=""))
    bus.announce(Polo())
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from random import SystemRandom
from types import TracebackType
from typing import Final, Self, TypeVar

from peerwire.jsonrpc.transport import OversizedLine, Transport
from symposium.bus import error_codes
from symposium.bus.daemon_options import DaemonOptions
from symposium.bus.daemon_start import PlaceError, dial
from symposium.bus.endpoint import CONNECT_TIMEOUT, BusEndpoint, OnProgress
from symposium.bus.envelope import MAX_LINE, Address, Envelope, Sender, write_envelope
from symposium.bus.errors import BusEndedError, BusError, BusRefusedError, BusUnreachableError
from symposium.bus.handlers import HandlerTable
from symposium.bus.messages.broker import PROTOCOL, Hello, Presence, Welcome
from symposium.bus.protocol import Announcement, BusRequest, Role

FIRST_PAUSE: Final = 0.05
"""Seconds before the second attempt to connect; doubled after each."""

MAX_PAUSE: Final = 5.0
"""Maximum seconds between attempts."""

MAX_ENDED: Final = 5
"""Connections in a row that may end before `hello` is answered; then the client gives up."""

HEARTBEAT: Final = 30.0
"""Seconds between two presence messages."""

MAX_WAITING: Final = 4 * MAX_LINE
"""Maximum size of unsent output, in bytes; beyond it, the connection is closed."""

_Answer = TypeVar("_Answer")
_log = logging.getLogger(__name__)
_random = SystemRandom()

Dial = Callable[[DaemonOptions], Awaitable[Transport]]
"""Connects to the daemon, and starts it if necessary."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Identity of a client.

    Attributes:
        role: its permissions on the bus.
        name: display name.
        sender: its directory and taskspace.
        presence: location shown to others, if any; sent at once and as a heartbeat.
    """

    role: Role
    name: str
    sender: Sender
    presence: Presence | None = None


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Connection settings of a client.

    Attributes:
        daemon: options for a daemon that it starts; they include the socket.
        dial: connects to the daemon.
        heartbeat: seconds between two presence messages.
        pause: waits before the next attempt.
        connect_timeout: seconds that a request waits for a connection before it fails.
    """

    daemon: DaemonOptions = field(default_factory=DaemonOptions)
    dial: Dial = dial
    heartbeat: float = HEARTBEAT
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    connect_timeout: float = CONNECT_TIMEOUT


class BusClient:
    """One peer of version 2; an async context manager that owns the connection."""

    def __init__(
        self,
        identity: Identity,
        answers: HandlerTable | None = None,
        settings: ClientSettings | None = None,
    ) -> None:
        self._answers = answers if answers is not None else HandlerTable()
        self._identity = identity
        self._presence = identity.presence
        self._settings = settings or ClientSettings()
        self._exchange = BusEndpoint(
            self._answers,
            identity.sender,
            self._send,
            connect_timeout=self._settings.connect_timeout,
        )
        self._transport: Transport | None = None
        self._is_in = False
        self._ready: asyncio.Future[Welcome] | None = None
        self._tasks = asyncio.TaskGroup()
        self._running: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._expect()
        await self._tasks.__aenter__()
        for work in (self._exchange.run(), self._stay_connected(), self._beat()):
            self._running.append(self._tasks.create_task(work))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for task in self._running:
            task.cancel()
        # Raise the error of the block itself, not the group's.
        await self._tasks.__aexit__(None, None, None)

    async def ready(self) -> Welcome:
        """Wait for the daemon's response to `hello`.

        Raises:
            BusError: the daemon is unreachable or refused the client.
        """
        assert self._ready is not None, "enter the client first"
        return await asyncio.shield(self._ready)

    async def request(
        self,
        message: BusRequest[_Answer],
        *,
        to: Address | None = None,
        on_progress: OnProgress | None = None,
        timeout: float | None = None,
    ) -> _Answer:
        """Send a request and wait for the reply; see `BusEndpoint.request`.

        Raises:
            BusError: there is no reply; the class gives the cause.
        """
        ask = self._exchange.request
        return await ask(message, to=to, on_progress=on_progress, timeout=timeout)

    async def post(self, message: Announcement, *, to: Address | None = None) -> int:
        """Send an announcement and wait for delivery; returns the number of receivers.

        Raises:
            BusError: delivery is not confirmed.
        """
        return await self._exchange.post(message, to=to)

    def announce(self, message: Announcement, *, to: Address | None = None) -> None:
        """Send an announcement; dropped while there is no connection."""
        self._exchange.announce(message, to=to)

    async def show(self, presence: Presence) -> None:
        """Send a new location; it is repeated as a heartbeat and after a reconnect.

        Raises:
            BusError: the broker did not confirm it.
        """
        self._presence = presence
        await self._exchange.request(presence)

    def _send(self, envelope: Envelope) -> bool:
        line = write_envelope(envelope)
        if len(line) > MAX_LINE:
            text = f"a message may have at most {MAX_LINE} bytes, not {len(line)}"
            raise BusRefusedError(text, error_codes.TOO_LONG, "send less, or a path to a file")
        if self._transport is None or not self._is_in:
            return False
        self._transport.send(line)
        return True

    async def _stay_connected(self) -> None:
        pause, ended = FIRST_PAUSE, 0
        while True:
            wire = _Wire(self._exchange)
            self._expect()
            try:
                await self._connect(wire)
                pause, ended = FIRST_PAUSE, 0
                await wire.over.wait()
                self._lose("the daemon closed the connection")
            except (OSError, BusError) as error:
                self._lose(str(error))
                # A stopping daemon is no reason to give up: nothing was sent yet.
                ended = ended + 1 if isinstance(error, BusEndedError) else 0
                if not 0 < ended < MAX_ENDED:
                    self._refuse(error)
                if _is_final(error):
                    self._exchange.give_up(error)
                    return
            finally:
                if self._transport is not None:
                    await self._transport.aclose(grace=1.0)
                    self._transport = None
            await self._settings.pause(_random.uniform(pause / 2, pause))
            pause = min(2 * pause, MAX_PAUSE)

    async def _connect(self, wire: "_Wire") -> None:
        self._transport = await self._settings.dial(self._settings.daemon)
        wire.start(self._transport)
        who = self._identity
        hello = Hello(
            protocol=PROTOCOL,
            role=who.role,
            name=who.name,
            handles=self._answers.handles,
            subscribes=self._answers.subscribes,
            pid=os.getpid(),
        )
        self._is_in = True
        welcome = await self._exchange.first(hello)
        if self._presence is not None:
            await self._exchange.first(self._presence)
        if welcome.previous_end is not None:
            _log.warning("the previous connection was closed: %s", welcome.previous_end)
        self._exchange.resend()
        assert self._ready is not None
        self._ready.set_result(welcome)

    def _lose(self, reason: str) -> None:
        self._is_in = False
        self._exchange.lost(reason)
        self._expect()

    def _expect(self) -> None:
        """Let later requests wait for the next connection."""
        if self._ready is None or self._ready.done():
            self._ready = asyncio.get_running_loop().create_future()

    def _refuse(self, error: Exception) -> None:
        """Fail `ready` with the reason for the missing connection."""
        assert self._ready is not None
        if isinstance(error, BusError):
            self._ready.set_exception(error)
        else:
            self._ready.set_exception(BusUnreachableError(str(error), "symposium daemon status"))
        # `ready` may have no caller; retrieve the error to avoid asyncio's warning.
        self._ready.exception()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._settings.heartbeat)
            if self._presence is not None and self._is_in:
                try:
                    await self._exchange.request(self._presence)
                except BusError as error:
                    _log.debug("no heartbeat: %s", error)


def _is_final(error: Exception) -> bool:
    """Whether a retry cannot help."""
    is_no_guest = isinstance(error, BusRefusedError) and error.code == error_codes.BAD_HELLO
    return is_no_guest or isinstance(error, PlaceError)


class _Wire:
    """One connection: decode its lines and report its end."""

    def __init__(self, exchange: BusEndpoint) -> None:
        self._exchange = exchange
        self.over = asyncio.Event()
        self._transport: Transport | None = None

    def start(self, transport: Transport) -> None:
        self._transport = transport
        transport.start(self)

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        for line in lines:
            if isinstance(line, OversizedLine):
                _log.warning("dropped a line longer than %d bytes", line.limit)
            else:
                self._exchange.take(line)

    def writing_paused(self) -> None:
        if self._transport is not None and self._transport.backlog > MAX_WAITING:
            _log.warning("closed the connection: the daemon does not read")
            self.over.set()

    def writing_resumed(self) -> None:
        """Do nothing: open requests limit the output, so no writer waits."""

    def ended(self, error: Exception | None) -> None:
        if error is not None:
            _log.debug("connection lost: %s", error)
        self.over.set()
        self._exchange.broken()

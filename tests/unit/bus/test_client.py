"""A bus client and its connection, with daemons in memory."""

import asyncio
import os
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import json
from tests.support.event_listener import Mailbox

from peerwire.jsonrpc.transport import Listener, OversizedLine, Transport
from peerwire.transports.memory import ForwardingTransport, memory_pair
from symposium.bus.client import MAX_WAITING, BusClient, ClientSettings, Identity
from symposium.bus.daemon_start import DaemonOptions
from symposium.bus.envelope import Sender, answer, read_envelope
from symposium.bus.errors import BusUnreachableError
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.agents import TaskspaceInfo, TaskspaceState
from symposium.bus.messages.broker import Presence, Welcome, WindowKind
from symposium.bus.protocol import Role, payload_of


class Held(ForwardingTransport):
    """A transport whose daemon has not read a given number of bytes."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self._waiting = 0
        self._listener: Listener | None = None

    @property
    def backlog(self) -> int:
        return self._waiting

    def start(self, listener: Listener) -> None:
        super().start(listener)
        self._listener = listener

    def hold(self, waiting: int) -> None:
        """Report that this many bytes are not read."""
        self._waiting = waiting
        assert self._listener
        self._listener.writing_paused()


class FakeDaemon:
    """Listens on one connection: welcomes its client, and records what it says.

    Attributes:
        received: type and payload of each message.
    """

    def __init__(self) -> None:
        self._end, other = memory_pair()
        self.transport = Held(other)
        self.received = Mailbox[tuple[str, Any]]()
        self.is_over = asyncio.Event()
        self._end.start(self)

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        for line in lines:
            assert isinstance(line, bytes)
            said = read_envelope(line)
            self.received.add((said.type, json.decode(said.payload)))
            reply = Welcome("c1") if said.type == "hello" else None
            self._end.send(answer(said, payload_of(reply)))

    def writing_paused(self) -> None:
        pass

    def writing_resumed(self) -> None:
        pass

    def ended(self, error: Exception | None) -> None:
        del error
        self.is_over.set()

    async def close(self) -> None:
        await self._end.aclose()


class Dialing:
    """Connects to the given daemons in turn; None refuses the connection.

    Attributes:
        pauses: the seconds between attempts.
    """

    def __init__(self, *daemons: FakeDaemon | None) -> None:
        self._daemons = list(daemons)
        self.pauses: list[float] = []
        self.is_done = asyncio.Event()

    async def dial(self, options: DaemonOptions) -> Transport:
        del options
        daemon = self._daemons.pop(0)
        if daemon is None:
            raise ConnectionRefusedError("no daemon listens")
        return daemon.transport

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(0)
        if not self._daemons:
            self.is_done.set()
            await asyncio.Event().wait()

    def client(
        self, presence: Presence | None = None, answers: HandlerTable | None = None
    ) -> BusClient:
        identity = Identity(Role.EDITOR, "editor", Sender("/here"), presence)
        settings = ClientSettings(dial=self.dial, pause=self.pause, heartbeat=0.001)
        return BusClient(identity, answers, settings)


@pytest.mark.requirement("bus.hello", "bus.presence")
async def test_client_says_who_and_where_it_is_at_once_and_then_regularly() -> None:
    async def state(message: TaskspaceState, asked: RequestContext) -> TaskspaceInfo:
        del message, asked
        return TaskspaceInfo(name="one")

    daemon, answers = FakeDaemon(), HandlerTable()
    answers.on_request(TaskspaceState, state)
    presence = Presence(kind=WindowKind.EDITOR, taskspace_uuid="u", pid=7)
    async with asyncio.timeout(10), Dialing(daemon).client(presence, answers) as client:
        welcome = await client.ready()
        said = [await daemon.received.next() for _ in range(3)]

    hello = {
        "protocol": 2,
        "role": "editor",
        "name": "editor",
        "handles": ["get_taskspace_state", "taskspace_state"],
        "subscribes": [],
        "pid": os.getpid(),
    }
    said[0][1]["handles"].sort()
    where = ("presence", json.decode(payload_of(presence)))
    assert welcome == Welcome("c1")
    assert said == [("hello", hello), where, where]


@pytest.mark.requirement("bus.client-backoff")
async def test_pauses_between_attempts_grow_to_a_bound_until_a_connection() -> None:
    daemon = FakeDaemon()
    dialing = Dialing(*[None] * 10, daemon, None, None)
    async with asyncio.timeout(10), dialing.client() as client:
        with pytest.raises(BusUnreachableError, match="no daemon listens"):
            await client.ready()
        await daemon.received.next()
        await daemon.close()
        await dialing.is_done.wait()

    bounds = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0, 0.05, 0.1, 0.2]
    assert len(dialing.pauses) == len(bounds)
    for pause, bound in zip(dialing.pauses, bounds, strict=True):
        assert bound / 2 <= pause <= bound


@pytest.mark.requirement("bus.slow-reader")
async def test_connection_is_closed_when_the_daemon_stops_reading() -> None:
    slow, other = FakeDaemon(), FakeDaemon()
    dialing = Dialing(slow, other, None)
    async with asyncio.timeout(10), dialing.client() as client:
        await client.ready()
        slow.transport.hold(MAX_WAITING)
        for _ in range(10):
            await asyncio.sleep(0)
        was_over = slow.is_over.is_set()
        slow.transport.hold(MAX_WAITING + 1)
        await slow.is_over.wait()
        hello, _ = await other.received.next()

    assert not was_over
    assert hello == "hello"

"""A bus client and its connection, with daemons in memory."""

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec import UNSET, json
from tests.support.event_listener import Mailbox

from peerwire.jsonrpc.transport import Listener, OversizedLine, Transport
from peerwire.transports.memory import ForwardingTransport, memory_pair
from symposium.bus import client as client_module
from symposium.bus import error_codes
from symposium.bus.client import MAX_WAITING, BusClient, ClientSettings, Identity
from symposium.bus.daemon_options import DaemonOptions
from symposium.bus.daemon_start import PlaceError
from symposium.bus.envelope import (
    Address,
    Envelope,
    Sender,
    answer,
    read_envelope,
    refusal,
    write_envelope,
)
from symposium.bus.errors import (
    BusError,
    BusReconnectingError,
    BusRefusedError,
    BusUnreachableError,
)
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.agents import TaskspaceInfo, TaskspaceState
from symposium.bus.messages.broker import DaemonStatus, Log, Presence, Welcome, WindowKind
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
        envelopes: each message.
    """

    def __init__(self, *, is_refusing: bool = False) -> None:
        self._is_refusing = is_refusing
        self.envelopes: list[Envelope] = []
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
            self.envelopes.append(said)
            if self._is_refusing:
                self._end.send(refusal(said.id, error_codes.BAD_HELLO, "no such protocol"))
                continue
            reply = Welcome("c1") if said.type == "hello" else {"delivered": 3}
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
    """Connects to the given daemons in turn; None refuses the connection, an error is raised.

    Attributes:
        pauses: the seconds between attempts.
    """

    def __init__(self, *daemons: FakeDaemon | Exception | None) -> None:
        self._daemons = list(daemons)
        self.pauses: list[float] = []
        self.is_done = asyncio.Event()

    async def dial(self, options: DaemonOptions) -> Transport:
        del options
        daemon = self._daemons.pop(0)
        if daemon is None:
            raise ConnectionRefusedError("no daemon listens")
        if isinstance(daemon, Exception):
            raise daemon
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


@pytest.mark.requirement("bus.client-errors")
@pytest.mark.parametrize(
    ("daemon", "text"),
    [
        (lambda: PlaceError("/run is open to other users", "chmod"), "open to other users"),
        (lambda: FakeDaemon(is_refusing=True), "no such protocol"),
    ],
    ids=["unsafe directory", "refused hello"],
)
async def test_client_does_not_try_again_if_that_cannot_help(
    daemon: Callable[[], FakeDaemon | Exception], text: str
) -> None:
    dialing = Dialing(daemon())
    async with asyncio.timeout(10), dialing.client() as client:
        for _ in ("while it connects", "after that"):
            with pytest.raises(BusError, match=text):
                await client.request(DaemonStatus())
        with pytest.raises(BusError, match=text):
            await client.ready()

    assert dialing.pauses == []


@pytest.mark.requirement("bus.one-budget")
@pytest.mark.parametrize(("settings", "caller"), [(0.001, None), (60.0, 0.001)])
async def test_settings_and_the_caller_of_a_client_limit_its_wait(
    settings: float, caller: float | None
) -> None:
    dialing = Dialing(None)
    who = Identity(Role.EDITOR, "editor", Sender("/here"))
    limited = ClientSettings(dial=dialing.dial, pause=dialing.pause, connect_timeout=settings)
    async with asyncio.timeout(5), BusClient(who, None, limited) as client:
        with pytest.raises(BusReconnectingError):
            await client.request(DaemonStatus(), timeout=caller)


@pytest.mark.requirement("bus.client-reconnects")
async def test_client_is_not_ready_between_two_connections() -> None:
    daemon = FakeDaemon()
    dialing = Dialing(daemon)
    async with asyncio.timeout(10), dialing.client() as client:
        await client.ready()
        await daemon.close()
        await dialing.is_done.wait()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await client.ready()


@pytest.mark.requirement("bus.addressed", "bus.acknowledged")
async def test_messages_of_a_client_reach_their_address() -> None:
    daemon, message = FakeDaemon(), Log(level="info", message="m")
    async with asyncio.timeout(10), Dialing(daemon).client() as client:
        await client.ready()
        client.announce(message, to=Address(connection="c1"))
        with pytest.raises(BusRefusedError, match="malformed reply"):
            await client.request(DaemonStatus(), to=Address(connection="c3"))
        delivered = await client.post(message, to=Address(connection="c2"))

    _, announced, asked, posted = daemon.envelopes
    assert asked.to == Address(connection="c3")
    assert (announced.to, announced.ack) == (Address(connection="c1"), UNSET)
    assert (posted.to, posted.ack) == (Address(connection="c2"), True)
    assert delivered == 3


@pytest.mark.requirement("bus.presence", "bus.client-reconnects")
async def test_new_location_is_sent_at_once_and_repeated_after_a_reconnect() -> None:
    first, second = FakeDaemon(), FakeDaemon()
    old, new = (Presence(kind=WindowKind.EDITOR, taskspace_uuid=each) for each in ("old", "new"))
    async with asyncio.timeout(10), Dialing(first, second).client(old) as client:
        await client.ready()
        at_once = len(first.envelopes)
        await client.show(new)
        shown = [json.decode(each.payload)["taskspace_uuid"] for each in first.envelopes[at_once:]]
        await first.close()
        said = [await second.received.next() for _ in range(2)]

    assert "new" in shown
    assert said[1] == ("presence", json.decode(payload_of(new)))


@pytest.mark.requirement("bus.long-lines")
async def test_message_above_the_limit_is_rejected_before_it_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    daemon = FakeDaemon()
    async with asyncio.timeout(10), Dialing(daemon).client() as client:
        await client.ready()
        client.announce(Log(level="info", message="xx"))
        for _ in range(2):
            await daemon.received.next()
        size = len(write_envelope(daemon.envelopes[1]))
        monkeypatch.setattr(client_module, "MAX_LINE", size)
        client.announce(Log(level="info", message="yy"))
        with pytest.raises(BusRefusedError, match=f"at most {size} bytes, not {size + 1}"):
            client.announce(Log(level="info", message="yyy"))
        _, last = await daemon.received.next()

    assert last["message"] == "yy"

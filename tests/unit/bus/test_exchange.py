"""Waiting times of a request, for a connection and for a response."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from msgspec import UNSET, Raw, json

from symposium.bus import endpoint as exchange_module
from symposium.bus.endpoint import CONNECT_TIMEOUT, GRACE, BusEndpoint, Pending
from symposium.bus.envelope import (
    Address,
    Envelope,
    Sender,
    answer,
    envelope_of,
    read_envelope,
    write_envelope,
)
from symposium.bus.errors import BusEndedError, BusLostError, BusReconnectingError, BusRefusedError
from symposium.bus.handlers import HandlerTable
from symposium.bus.messages.agents import DeleteTaskspace, LogProgress
from symposium.bus.messages.broker import DaemonStatus, Log, Progress

DELETE = DeleteTaskspace(project_path="/p", taskspace_uuid="u")
LOG = LogProgress(project_path="/p", taskspace_uuid="u", message="m")


class Wire:
    """A connection that is up or down, and keeps what was sent."""

    def __init__(self, *, is_up: bool) -> None:
        self.is_up = is_up
        self.sent: list[bytes] = []

    def send(self, envelope: Envelope) -> bool:
        if self.is_up:
            self.sent.append(write_envelope(envelope))
        return self.is_up


def exchange_on(wire: Wire, connect_timeout: float = 0.02) -> BusEndpoint:
    return BusEndpoint(HandlerTable(), Sender("/here"), wire.send, connect_timeout=connect_timeout)


@asynccontextmanager
async def asking(
    exchange: BusEndpoint, kind: type[Exception]
) -> AsyncGenerator[list[Exception], None]:
    """A status request that is open during the block, and the error that ended it."""
    errors: list[Exception] = []

    async def ask() -> None:
        try:
            await exchange.request(DaemonStatus())
        except kind as error:
            errors.append(error)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(ask())
        await asyncio.sleep(0)
        yield errors


@pytest.mark.requirement("bus.connection-budget")
def test_a_request_waits_ten_seconds_for_a_connection() -> None:
    assert CONNECT_TIMEOUT == 10.0


@pytest.mark.requirement("bus.one-budget")
@pytest.mark.parametrize(
    ("is_sent", "limit", "expected"),
    [
        (False, None, 10.0),
        (False, 1800.0, 10.0),
        (False, 2.0, 2.0),
        (True, None, LogProgress.about.budget + GRACE),
        (True, 1800.0, LogProgress.about.budget + GRACE),
        (True, 1.0, 1.0),
    ],
)
async def test_caller_can_only_shorten_the_timeout(
    *, is_sent: bool, limit: float | None, expected: float
) -> None:
    assert Pending(LogProgress, is_sent=is_sent, limit=limit).timeout == expected


@pytest.mark.requirement("bus.one-budget")
async def test_a_long_limit_does_not_delay_the_error_while_there_is_no_connection() -> None:
    exchange = exchange_on(Wire(is_up=False))

    with pytest.raises(BusReconnectingError, match="nothing was done: delete_taskspace was not"):
        await exchange.request(DELETE, timeout=1800.0)


@pytest.mark.requirement("bus.one-budget")
async def test_wait_for_a_new_connection_is_limited() -> None:
    wire = Wire(is_up=True)
    exchange = exchange_on(wire)
    async with asking(exchange, BusReconnectingError) as errors:
        wire.is_up = False
        exchange.lost("the daemon is gone")

    assert "was not sent" in str(errors[0])


@pytest.mark.requirement("bus.one-budget")
async def test_repeated_request_has_its_full_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exchange_module, "GRACE", -DaemonStatus.about.budget + 0.02)
    wire = Wire(is_up=False)
    exchange = exchange_on(wire, connect_timeout=60.0)
    async with asking(exchange, BusRefusedError) as errors:
        wire.is_up = True
        exchange.resend()

    assert "timed out" in str(errors[0])
    assert wire.sent


@pytest.mark.requirement("bus.one-budget")
async def test_request_that_is_not_idempotent_fails_when_its_connection_is_lost() -> None:
    wire = Wire(is_up=True)
    exchange = exchange_on(wire, connect_timeout=60.0)
    errors: list[BusLostError] = []

    async def ask() -> None:
        try:
            await exchange.request(LOG)
        except BusLostError as error:
            errors.append(error)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(ask())
        await asyncio.sleep(0)
        exchange.lost("the daemon is gone")

    assert "the outcome is unknown" in errors[0].hint


@pytest.mark.requirement("bus.one-budget")
async def test_a_request_is_sent_once_to_a_connection() -> None:
    wire = Wire(is_up=True)
    exchange = exchange_on(wire, connect_timeout=60.0)
    async with asking(exchange, BusLostError):
        exchange.resend()
        first = len(wire.sent)
        exchange.lost("the daemon is gone")
        exchange.resend()
        exchange.resend()
        both = len(wire.sent)
        exchange.give_up(BusLostError("it does not come back", ""))

    assert (first, both) == (1, 2)


@pytest.mark.requirement("bus.cancel-announced")
@pytest.mark.parametrize("is_up", [True, False])
async def test_a_request_that_is_canceled_is_canceled_where_it_was_sent(*, is_up: bool) -> None:
    wire = Wire(is_up=is_up)
    exchange = exchange_on(wire, connect_timeout=60.0)
    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(exchange.request(DaemonStatus()))
        await asyncio.sleep(0)
        asking.cancel()
    wire.is_up = True
    exchange.resend()

    sent = [read_envelope(each) for each in wire.sent]
    assert [each.type for each in sent] == (["daemon_status", "cancel_request"] if is_up else [])
    if is_up:
        assert sent[0].id.encode() in bytes(sent[1].payload)


@pytest.mark.requirement("bus.post-refused")
@pytest.mark.parametrize(
    ("payload", "delivered"),
    [
        (b'{"success":true,"data":{"delivered":2}}', 2),
        (b'{"success":false,"error":"no","code":"forbidden","data":{"delivered":2}}', None),
        (b'{"success":true}', None),
    ],
)
async def test_announcement_is_delivered_only_if_the_broker_confirms_it(
    payload: bytes, delivered: int | None
) -> None:
    wire = Wire(is_up=True)
    exchange = exchange_on(wire)
    found: list[int | None] = []

    async def post() -> None:
        try:
            found.append(await exchange.post(Log(level="info", message="m")))
        except BusRefusedError:
            found.append(None)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(post())
        await asyncio.sleep(0)
        id_ = read_envelope(wire.sent[0]).id
        exchange.take(Envelope("response", id_, Sender("/"), Raw(payload)))

    assert found == [delivered]


@pytest.mark.requirement("bus.odd-answers")
async def test_malformed_reply_is_an_error_that_names_the_request() -> None:
    wire = Wire(is_up=True)
    exchange = exchange_on(wire, connect_timeout=60.0)
    async with asking(exchange, BusRefusedError) as errors:
        sent = read_envelope(wire.sent[0])
        exchange.take(answer(sent, Raw(b'"no object"')))

    assert "malformed reply to daemon_status" in str(errors[0])


@pytest.mark.requirement("bus.odd-answers")
async def test_malformed_response_is_an_error_with_its_own_code() -> None:
    wire = Wire(is_up=True)
    exchange = exchange_on(wire, connect_timeout=60.0)
    async with asking(exchange, BusRefusedError) as errors:
        id_ = read_envelope(wire.sent[0]).id
        exchange.take(Envelope("response", id_, Sender("/"), Raw(b"[]")))

    (error,) = errors
    assert isinstance(error, BusRefusedError)
    assert error.code == "bad_payload"
    assert "malformed payload in response" in str(error)


@pytest.mark.requirement("bus.client-meets-the-end")
async def test_only_the_first_request_fails_when_the_connection_ends_before_its_response() -> None:
    exchange = exchange_on(Wire(is_up=True), connect_timeout=60.0)
    first: list[Exception] = []

    async def begin() -> None:
        try:
            await exchange.first(DaemonStatus())
        except BusEndedError as error:
            first.append(error)

    async with asking(exchange, BusLostError) as errors, asyncio.TaskGroup() as tasks:
        exchange.broken()
        tasks.create_task(begin())
        await asyncio.sleep(0)
        exchange.broken()
        await asyncio.sleep(0)
        assert errors == []
        exchange.give_up(BusLostError("it does not come back", ""))

    assert "closed the connection before it answered daemon_status" in str(first[0])


@pytest.mark.requirement("bus.odd-answers")
async def test_late_or_unwanted_progress_is_ignored() -> None:
    wire = Wire(is_up=True)
    exchange = exchange_on(wire, connect_timeout=60.0)
    async with asking(exchange, BusRefusedError) as errors:
        sent = read_envelope(wire.sent[0])
        for name in (sent.id, "none"):
            exchange.take(envelope_of(Progress(request_id=name, message="half"), Sender("/x")))
        exchange.take(answer(sent, Raw(b"7")))

    assert len(errors) == 1


@pytest.mark.requirement("bus.addressed")
async def test_announcement_has_its_address_and_is_dropped_without_a_connection() -> None:
    wire = Wire(is_up=False)
    exchange = exchange_on(wire)
    exchange.announce(Log(level="info", message="lost"))
    wire.is_up = True
    exchange.announce(Log(level="info", message="one"), to=Address(connection="c7"))
    exchange.announce(Log(level="info", message="two"))

    sent = [read_envelope(line) for line in wire.sent]
    assert [json.decode(each.payload)["message"] for each in sent] == ["one", "two"]
    assert [each.to for each in sent] == [Address(connection="c7"), UNSET]

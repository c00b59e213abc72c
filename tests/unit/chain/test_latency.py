"""Measured time that mods add."""

import asyncio
from collections.abc import Awaitable
from typing import Any, cast

import pytest

from symposium.chain.blueprint import InProcess, Served
from symposium.chain.messages import ChainMessage, Direction
from symposium.chain.mod import Forward, Handler, Interception, Mod
from symposium.chain.monitoring import (
    MAX_STORED,
    ONE_IN,
    ChainSession,
    ChainSessions,
    Durations,
    Latency,
    LatencyTable,
    Passing,
    timed,
)
from symposium.chain.running_chain import RunningChain, chain_report


def measured(handler: Handler) -> tuple[Handler, Durations]:
    durations = Durations()
    (found,) = timed([Interception(Direction.TO_AGENT, "m", handler)], durations)
    return found.handler, durations


def count(durations: Durations) -> int:
    latency = durations.latency()
    return 0 if latency is None else latency.count


@pytest.mark.requirement("stories.a-12-latency")
def test_median_and_maximum_of_the_measured_times_are_reported() -> None:
    durations = Durations()
    assert durations.latency() is None
    for thousandth in range(100, 0, -1):
        durations.note(thousandth / 1000)
    latency = durations.latency()
    assert latency is not None
    assert (latency.p50, latency.p95, latency.count) == (51.0, 96.0, 100)


@pytest.mark.requirement("stories.a-12-latency")
def test_every_request_is_measured_and_one_notification_of_many() -> None:
    handler, durations = measured(lambda _: Forward())
    for _ in range(3):
        handler(ChainMessage("m", b"{}", is_request=True))
    assert count(durations) == 3
    for _ in range(2 * ONE_IN):
        handler(ChainMessage("m", b"{}", is_request=False))
    assert count(durations) == 5


@pytest.mark.requirement("stories.a-12-latency")
async def test_slow_mod_is_measured_until_it_ends() -> None:
    may_continue = asyncio.Event()

    async def slow(_: ChainMessage) -> Forward:
        await may_continue.wait()
        return Forward()

    handler, durations = measured(slow)
    waiting = handler(ChainMessage("m", b"{}", is_request=True))
    assert count(durations) == 0
    may_continue.set()

    assert isinstance(waiting, Awaitable)
    assert isinstance(await waiting, Forward)
    assert count(durations) == 1


@pytest.mark.requirement("stories.a-12-latency")
def test_work_without_a_waiter_is_closed() -> None:
    async def slow(_: ChainMessage) -> Forward:
        return Forward()

    handler, durations = measured(slow)
    handler(ChainMessage("m", b"{}", is_request=True))
    # A coroutine left open would be a warning, and so an error here.
    assert count(durations) == 0


@pytest.mark.requirement("stories.a-12-latency")
def test_program_is_measured_by_forwarded_requests() -> None:
    passing = Passing()
    passing.left("its own")
    passing.entered("m")
    passing.entered("kept")
    passing.left("m")
    latency = passing.durations.latency()
    assert latency is not None
    assert latency.count == 1


@pytest.mark.requirement("stories.a-12-latency")
def test_only_the_latest_measurements_count() -> None:
    durations = Durations()
    durations.note(1000.0)
    for _ in range(MAX_STORED):
        durations.note(0.001)

    latency = durations.latency()
    assert latency is not None
    assert (latency.p95, latency.count) == (1.0, MAX_STORED)


@pytest.mark.requirement("stories.a-12-latency")
def test_mods_in_programs_and_in_process_are_listed_in_order_and_hidden_ones_are_not() -> None:
    async def serve(_: object) -> None: ...

    mods = [
        Served("program", serve),
        InProcess("ours", Mod()),
        InProcess("hidden", Mod(), is_hidden=True),
    ]
    measures = LatencyTable.of(mods)

    assert measures.latencies() == [("program", None), ("ours", None)]
    assert len(list(measures.programs())) == 1


class Running:
    """A running chain, with the members that a report reads."""

    agent_name = "agent"
    latencies = (("fast", Latency(0.5, 1.0, 3)), ("unused", None))

    def __init__(self) -> None:
        self.sessions = ChainSessions()
        self.sessions.sessions = {
            "a": ChainSession("/one", [{"name": "files"}]),
            "b": ChainSession("/two", []),
        }


@pytest.mark.requirement("stories.a-10-status", "stories.a-12-latency")
def test_report_lists_the_mods_and_only_the_editors_sessions() -> None:
    running = cast("RunningChain", Running())
    why = "the agent supports programs"
    files = {"name": "files", "kind": "stdio", "reaching": "direct", "why": why}
    mods = [
        {"name": "fast", "latencyMs": {"p50": 0.5, "p95": 1.0, "count": 3}},
        {"name": "unused", "latencyMs": None},
    ]
    one: dict[str, Any] = {"cwd": "/one", "mcp": [files]}
    two: dict[str, Any] = {"cwd": "/two", "mcp": []}

    assert chain_report(running) == {
        "agent": "agent",
        "mods": mods,
        "sessions": [{"id": "a", **one}, {"id": "b", **two}],
    }
    assert chain_report(running, {"b": "editor's"})["sessions"] == [{"id": "editor's", **two}]

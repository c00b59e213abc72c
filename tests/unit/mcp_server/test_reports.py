"""Progress reports and signals to the user, and their delivery."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.mcp_harness import TASK, FakeBus, call_tool, workplace_in
from tests.support.synced_files import SyncedFiles

from symposium.bus.errors import BusLostError, BusReconnectingError, BusRefusedError
from symposium.bus.messages.agents import LogProgress, ProgressCategory, Recorded, SignalUser
from symposium.bus.messages.broker import Progress
from symposium.mcp_server import outbox as module
from symposium.mcp_server.outbox import Outbox
from symposium.mcp_server.progress import ProgressRelay
from symposium.mcp_server.report_delivery import REPORT_TIMEOUT, DeliveryReport

REPORT = {"message": "Half of it works", "category": "milestone"}


def said(message: str) -> SignalUser:
    return SignalUser(project_path="p", taskspace_uuid=TASK, message=message)


@pytest.mark.requirement("mcp-server.reports")
@pytest.mark.parametrize(
    ("watchers", "text"), [(1, "1 view(s) show it now"), (0, "no view shows it now")]
)
async def test_report_answer_counts_its_viewers(watchers: int, text: str, tmp_path: Path) -> None:
    bus = FakeBus()
    bus.answer("log_progress", Recorded(watchers=watchers))
    answer = await call_tool(workplace_in(tmp_path, bus), "log_progress", REPORT)

    assert answer.value == DeliveryReport("recorded", watchers)
    assert answer.text == f"Recorded; {text}."
    assert bus.timeouts == [REPORT_TIMEOUT]
    (message,) = bus.asked
    assert isinstance(message, LogProgress)
    assert (message.taskspace_uuid, message.category) == (TASK, ProgressCategory.MILESTONE)


@pytest.mark.requirement("mcp-server.reports")
@pytest.mark.parametrize(
    ("word", "category"),
    [
        *((each.value, each.value) for each in ProgressCategory),
        ("WARN", "warn"),
        ("\u2705", "milestone"),
        ("\u2753", "question"),
        ("\u26a0\ufe0f", "warn"),
        ("anything", "info"),
    ],
)
async def test_words_and_symbols_name_a_category(word: str, category: str, tmp_path: Path) -> None:
    bus = FakeBus()
    bus.answer("log_progress", Recorded())
    await call_tool(workplace_in(tmp_path, bus), "log_progress", REPORT | {"category": word})
    (message,) = bus.asked

    assert isinstance(message, LogProgress)
    assert message.category.value == category


@pytest.mark.requirement("mcp-server.reports", "mcp-server.outbox")
@pytest.mark.parametrize(
    "error",
    [
        BusReconnectingError("bus reconnecting", ""),
        BusLostError("lost", ""),
        BusRefusedError("no handler", "no_handler"),
        BusRefusedError("late", "timeout"),
    ],
    ids=str,
)
async def test_undelivered_report_is_queued_and_the_answer_states_it(
    error: Exception, tmp_path: Path
) -> None:
    bus = FakeBus()
    bus.answer("signal_user", error)
    workplace = workplace_in(tmp_path, bus)
    answer = await call_tool(workplace, "signal_user", {"message": "I am stuck"})

    assert answer.value == DeliveryReport("queued")
    assert "Queued" in answer.text
    (line,) = workplace.outbox.waiting()
    assert json.loads(line)["payload"]["message"] == "I am stuck"


@pytest.mark.requirement("mcp-server.reports", "mcp-server.errors")
async def test_refused_report_is_an_error_and_is_not_queued(tmp_path: Path) -> None:
    bus = FakeBus()
    bus.answer("signal_user", BusRefusedError("no such taskspace", "not_found", "ask the user"))
    workplace = workplace_in(tmp_path, bus)
    answer = await call_tool(workplace, "signal_user", {"message": "I am stuck"})

    assert answer.is_error
    assert "no such taskspace\nask the user" in answer.text
    assert workplace.outbox.is_empty


@pytest.mark.requirement("mcp-server.reports", "mcp-server.outbox")
async def test_report_that_cannot_be_queued_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    workplace = workplace_in(tmp_path)
    answer = await call_tool(workplace, "signal_user", {"message": "I am stuck"})

    assert answer.is_error
    assert "is full" in answer.text
    assert "report it to the user" in answer.text


@pytest.mark.requirement("mcp-server.outbox-synced")
def test_queued_reports_survive_a_power_failure_once_the_tool_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox, synced = Outbox(tmp_path), SyncedFiles(monkeypatch)

    for word in ("one", "two"):
        outbox.keep(said(word))
        assert synced.lost(tmp_path) == []

    assert len(outbox.waiting()) == 2


@pytest.mark.requirement("mcp-server.outbox")
async def test_queued_reports_are_delivered_in_order(tmp_path: Path) -> None:
    outbox, bus = Outbox(tmp_path), FakeBus()
    for word in ("one", "two", "three"):
        outbox.keep(said(word))
    await outbox.say(bus)
    assert len(outbox.waiting()) == 3
    bus.answer("signal_user", Recorded())
    bus.asked.clear()
    await Outbox(tmp_path).say(bus)

    assert bus.asked == [said("one"), said("two"), said("three")]
    assert outbox.is_empty


@pytest.mark.requirement("mcp-server.outbox")
async def test_report_queued_during_a_delivery_is_kept(tmp_path: Path) -> None:
    outbox, bus = Outbox(tmp_path), FakeBus()
    outbox.keep(said("one"))

    async def taking(message: Any, news: Any) -> Recorded:
        del news
        if message.message == "one":
            outbox.keep(said("two"))
        return Recorded()

    bus.answers["signal_user"] = taking
    await outbox.say(bus)
    (line,) = outbox.waiting()

    assert b"two" in line


@pytest.mark.requirement("mcp-server.outbox")
async def test_malformed_line_blocks_no_other_report(tmp_path: Path) -> None:
    outbox, bus = Outbox(tmp_path), FakeBus()
    bus.answer("signal_user", Recorded())
    outbox.keep(said("one"))
    path = tmp_path / "outbox" / "reports.jsonl"
    odd = b'not JSON\n{"type":"unknown","payload":{}}\n{"type":"polo","payload":{}}\n'
    path.write_bytes(odd + path.read_bytes() + b'{"type":"signal_user","payl')
    await outbox.say(bus)

    assert bus.asked == [said("one")]
    assert outbox.is_empty


@pytest.mark.requirement("mcp-server.outbox")
@pytest.mark.parametrize("torn", [b'{"type":"signal_user","payl', b'{"type":"\xf0\x9f', b"\n\n{"])
async def test_truncated_line_blocks_no_other_report(torn: bytes, tmp_path: Path) -> None:
    outbox, bus = Outbox(tmp_path), FakeBus()
    bus.answer("signal_user", Recorded())
    outbox.keep(said("one"))
    path = tmp_path / "outbox" / "reports.jsonl"
    path.write_bytes(path.read_bytes() + torn)
    outbox.keep(said("two"))
    await outbox.say(bus)

    assert bus.asked == [said("one"), said("two")]
    assert outbox.is_empty


@pytest.mark.requirement("mcp-server.outbox")
async def test_permanently_refused_report_does_not_block_the_rest(tmp_path: Path) -> None:
    outbox, bus = Outbox(tmp_path), FakeBus()
    outbox.keep(said("one"))
    bus.answer("signal_user", BusRefusedError("does not exist", "not_found"))
    await outbox.say(bus)

    assert outbox.is_empty


@pytest.mark.requirement("mcp-server.outbox")
async def test_delivery_is_retried_periodically(tmp_path: Path) -> None:
    outbox, bus = Outbox(tmp_path), FakeBus()
    outbox.keep(said("one"))
    looks = 0

    class EnoughError(Exception):
        pass

    async def pause() -> None:
        nonlocal looks
        looks += 1
        if looks == 2:
            bus.answer("signal_user", Recorded())
        if looks == 3:
            raise EnoughError

    with pytest.raises(EnoughError):
        await outbox.run(bus, pause)

    assert len(bus.asked) == 3
    assert outbox.is_empty


@pytest.mark.requirement("mcp-server.reports")
async def test_progress_counts_up_and_repeats_the_latest_message() -> None:
    relay = ProgressRelay("Asked.")
    seen: list[tuple[float, float | None, str]] = []
    found = [Progress(request_id="1", message=f"Found {count}.") for count in (1, 2)]

    class EnoughError(Exception):
        pass

    async def news(done: float, total: float | None, message: str) -> None:
        seen.append((done, total, message))
        if len(seen) in {3, 5}:
            raise EnoughError
        if found:
            asyncio.get_running_loop().call_soon(relay.take, found.pop(0))

    for every in (60, 0):
        with pytest.raises(EnoughError):
            await relay.tell_on(news, every=every)

    assert seen == [
        *((1, None, "Asked."), (2, None, "Found 1."), (3, None, "Found 2.")),
        *((1, None, "Found 2."), (2, None, "Found 2.")),
    ]

"""Reports of the guidance that an agent reads."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

import pytest
from tests.support.mcp_harness import TASK, FakeBus, call_tool, workplace_in

from symposium.bus.errors import BusUnreachableError
from symposium.bus.messages.agents import GuidanceRead
from symposium.bus.protocol import Ack, BusMessage
from symposium.mcp_server.server_context import ServerContext
from symposium.mcp_server.task_lookup import MAX_WAITING


class Caller:
    """A client that ignores progress."""

    async def news(self, done: float, total: float | None, message: str) -> None:
        del done, total, message


def reported(messages: Sequence[BusMessage]) -> list[tuple[str, str]]:
    return [(each.id, each.layer) for each in messages if isinstance(each, GuidanceRead)]


@asynccontextmanager
async def reporting(workplace: ServerContext, bus: FakeBus) -> AsyncGenerator[None]:
    """Report readings until the end of the block."""
    yield
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(workplace.readings.run(bus))
        for _ in range(3 * MAX_WAITING):
            await asyncio.sleep(0)
        running.cancel()


@pytest.mark.requirement("guidance.read-visible")
async def test_each_reading_is_reported_with_its_layer_and_hash(tmp_path: Path) -> None:
    bus = FakeBus()
    bus.answer("guidance_read", Ack())
    workplace = workplace_in(tmp_path, bus)
    async with reporting(workplace, bus):
        await call_tool(workplace, "expand_reference", {"id": "coding-guidelines.md"})
        await call_tool(workplace, "expand_reference", {"id": "yiasou"})
    found = reported(bus.asked)
    first = next(each for each in bus.asked if isinstance(each, GuidanceRead))
    text = workplace.library.shelf().texts["coding-guidelines.md"]

    assert found[0] == ("coding-guidelines.md", "built-in")
    assert ("main.md", "built-in") in found[1:]
    assert (first.taskspace_uuid, first.sha256) == (TASK, text.sha256)


@pytest.mark.requirement("guidance.read-visible")
async def test_nothing_is_reported_outside_a_task(tmp_path: Path) -> None:
    bus = FakeBus()
    workplace = workplace_in(tmp_path, bus, taskspace="")
    async with reporting(workplace, bus):
        await call_tool(workplace, "expand_reference", {"id": "main.md"})

    assert reported(bus.asked) == []


@pytest.mark.requirement("guidance.read-visible")
async def test_failed_report_ends_nothing(tmp_path: Path) -> None:
    bus = FakeBus()
    bus.answer("guidance_read", BusUnreachableError("no daemon listens", ""))
    workplace = workplace_in(tmp_path, bus)
    async with reporting(workplace, bus):
        for _ in range(2):
            await call_tool(workplace, "expand_reference", {"id": "main.md"})

    assert reported(bus.asked) == [("main.md", "built-in")] * 2


@pytest.mark.requirement("guidance.read-visible")
async def test_prompt_that_names_texts_is_reported_by_its_hash(tmp_path: Path) -> None:
    bus = FakeBus()
    bus.answer("guidance_read", Ack())
    workplace = workplace_in(tmp_path, bus)
    async with reporting(workplace, bus):
        workplace.readings.note_prompt("yiasou", "the text")
    (found,) = [each for each in bus.asked if isinstance(each, GuidanceRead)]

    assert (found.id, found.layer) == ("yiasou", "")
    assert found.sha256 == sha256(b"the text").hexdigest()

"""Conflicts of a task, as its agent reads them."""

from pathlib import Path

import pytest
from tests.support.mcp_harness import TASK, FakeBus, workplace_in

from symposium.bus.errors import BusUnreachableError
from symposium.bus.messages.worktrees import Overlaps, OverlapView
from symposium.mcp_server.offering import conflicts

OTHER = "11111111-6a86-4b1e-9d5c-3c1a9f2b7d10"


@pytest.mark.requirement("tasks.radar-resource")
async def test_agent_reads_only_its_own_conflicts(tmp_path: Path) -> None:
    bus = FakeBus()
    mine = OverlapView(OTHER, TASK, ("a.txt:2-2 (content)",))
    bus.answer("find_overlaps", Overlaps(overlaps=(mine, OverlapView(OTHER, "x", ("b.txt",)))))

    assert await conflicts(workplace_in(tmp_path, bus)) == f"with {OTHER}: a.txt:2-2 (content)\n"


@pytest.mark.requirement("tasks.radar-resource")
async def test_conflicts_are_unknown_without_a_daemon(tmp_path: Path) -> None:
    bus = FakeBus()
    bus.answer("find_overlaps", BusUnreachableError("no daemon listens", ""))

    assert await conflicts(workplace_in(tmp_path, bus)) == "Unknown: no daemon listens\n"

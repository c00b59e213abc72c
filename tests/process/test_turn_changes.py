"""Changed files of a turn, which a session server reads from its snapshots."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.support.in_process_daemon import daemon_of

from symposium.bus.client import BusClient, Identity
from symposium.bus.envelope import Sender
from symposium.bus.errors import BusRefusedError
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.tasks import SnapshotView
from symposium.bus.messages.worktrees import Snapped, SnapshotTaskspace
from symposium.bus.protocol import Role
from symposium.daemon.part import LocalPeer
from symposium.sessions.tool_call_snapshots import BusSnapshots

FAILED = None
"""Response for a snapshot that cannot be made."""


class Engine:
    """Answers each snapshot with the next of these trees and tips."""

    def __init__(self, states: Sequence[tuple[str, str] | None]) -> None:
        self._states = iter(states)
        self._count = 0

    def answers(self) -> HandlerTable:
        answers = HandlerTable()
        answers.on_request(SnapshotTaskspace, self._snapshot)
        return answers

    async def run(self, bus: LocalPeer) -> None:
        del bus
        await asyncio.Event().wait()

    def is_busy(self) -> bool:
        return False

    async def _snapshot(self, message: SnapshotTaskspace, asked: RequestContext) -> Snapped:
        del asked
        state = next(self._states)
        if state is None:
            raise BusRefusedError("the disk is full", "failed")
        self._count += 1
        tree, tip = state
        return Snapped(SnapshotView(f"snapshot-{self._count}", 1.0, message.reason, tree, tip))


@asynccontextmanager
async def snapshots_of(engine: Engine, folder: Path) -> AsyncGenerator[BusSnapshots]:
    """Create the snapshots of a session server, over a daemon in this process."""
    who = Identity(Role.HOST, "test", Sender("/work"))
    async with (
        daemon_of(engine, folder) as settings,
        BusSnapshots("one", BusClient(who, settings=settings)) as snapshots,
    ):
        yield snapshots


@pytest.mark.requirement("approvals.done-own-work")
@pytest.mark.parametrize(
    ("states", "expected"),
    [
        pytest.param([("a", "1"), ("a", "1")], False, id="another ref alone"),
        pytest.param([("a", "1"), ("b", "1")], True, id="files"),
        pytest.param([("a", "1"), ("a", "2")], True, id="a commit"),
        pytest.param([FAILED, ("a", "1")], False, id="unknown at the start"),
        pytest.param([FAILED, FAILED], False, id="never known"),
        pytest.param([FAILED, ("a", "1"), ("b", "1")], True, id="files, after an unknown start"),
        pytest.param([("a", "1"), FAILED], False, id="unknown at the end"),
    ],
)
async def test_turn_has_changed_files_when_tree_or_tip_differ_from_its_first_snapshot(
    tmp_path: Path, states: Sequence[tuple[str, str] | None], *, expected: bool
) -> None:
    async with snapshots_of(Engine(states), tmp_path) as snapshots:
        await snapshots.begin_turn()
        for _ in states[1:]:
            await snapshots.save("the turn is over")

        assert snapshots.has_changed is expected


@pytest.mark.requirement("approvals.done-own-work")
async def test_change_between_two_turns_is_ignored_when_the_start_of_the_second_is_unknown(
    tmp_path: Path,
) -> None:
    states = [("a", "1"), ("a", "1"), FAILED, ("edited by the user", "1")]
    async with snapshots_of(Engine(states), tmp_path) as snapshots:
        for _ in range(2):
            await snapshots.begin_turn()
            await snapshots.save("the turn is over")

        assert not snapshots.has_changed

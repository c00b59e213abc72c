"""Replies to requests about worktrees: each outcome of the engine, as the user gets it."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.support.task_harness import open_scene
from tests.support.task_views import Served, asked, serve

from localio.git import GitRunError
from symposium.bus.messages.tasks import SnapshotView
from symposium.bus.messages.worktrees import (
    Collected,
    CollectTaskspaces,
    ConflictView,
    FindOverlaps,
    Landing,
    LandingShown,
    LandTaskspace,
    Overlaps,
    OverlapView,
    ReportTaskspace,
    RestoreTaskspace,
    SafetyReport,
    ShowLanding,
    Snapped,
    SnapshotTaskspace,
    Undone,
    UndoTaskspace,
)
from symposium.bus.protocol import BusRequest
from symposium.sessions.client import hand_over_environment
from symposium.sessions.session import ServerSessionState, SessionKind, SessionSpec, Status
from symposium.tasks.conflict_resolutions import Resolution, ResolutionStage
from symposium.tasks.deletion.safety_report import DeletionReport, Finding, Risk, Unknown
from symposium.tasks.deletion.trash import Trash
from symposium.tasks.engine import Engine, TaskHistory
from symposium.tasks.engine_context import EngineContext
from symposium.tasks.handlers.conflict_resolution import Resolving
from symposium.tasks.handlers.landing import LandingHandlers
from symposium.tasks.land import (
    ChecksFailed,
    Join,
    LandConflict,
    Landed,
    LandOptions,
    LandOutcome,
)
from symposium.tasks.merges import Conflict, LineRange
from symposium.tasks.model import Layout, Taskspace, TaskspaceError, TaskState
from symposium.tasks.overlaps import BASE, Overlap
from symposium.tasks.setup_steps import CommandFailure
from symposium.tasks.snapshots.restore import RestoredSnapshot
from symposium.tasks.snapshots.snapshot_values import Snapshot

ONE, TWO, THREE, GONE = [str(UUID(int=(number << 96) + 1)) for number in range(1, 5)]
TASK = Taskspace(
    *(ONE, "/p", Layout.BESIDE, "one", "/p/a b", "b", ""),
    standing=TaskState.FINISHED,
    activated_at="2026-01-01T00:00:00+00:00",
)
LINES = Conflict("a.txt", "content", (LineRange(1, 3), LineRange(9, 9)), (LineRange(2, 2),))
WHOLE = Conflict("b.bin", "binary")
OVERLAPS = [
    Overlap(ONE, TWO, (LINES, WHOLE)),
    Overlap(THREE, ONE, problem="no tree"),
    Overlap(TWO, THREE, (WHOLE,)),
    Overlap(ONE, BASE, (WHOLE,)),
    Overlap(ONE, GONE, (WHOLE,)),
]
WARNINGS = (
    "one would conflict with two: a.txt:1-3, 9-9 (content)",
    "one would conflict with two: b.bin (binary)",
    "one would conflict with three: could not be compared: no tree",
)
BY_HAND = "git -C '/p/a b' rebase 0123456789ab"
NOW, BEFORE = [
    Snapshot(f"ref-{at}", "commit", "work", "key", at, f"at {at}", "head", f"tip-{at}", "", "tree")
    for at in (2.0, 1.0)
]
NOW_VIEW, BEFORE_VIEW = [
    SnapshotView(f"ref-{at}", at, f"at {at}", "tree", f"tip-{at}") for at in (2.0, 1.0)
]


class History(TaskHistory):
    """Snapshots without a worktree.

    Attributes:
        calls: what was asked for.
    """

    def __init__(self, context: EngineContext) -> None:
        super().__init__(context)
        self.calls: list[tuple[Any, ...]] = []

    async def snapshot(self, id_: str, reason: str, *, called_at: float | None = None) -> Snapshot:
        self.calls.append((id_, reason, called_at))
        return NOW

    async def undo(self, id_: str) -> RestoredSnapshot:
        self.calls.append((id_, "undo"))
        return RestoredSnapshot(NOW, BEFORE, ("a note",))

    async def restore(self, id_: str, ref: str) -> RestoredSnapshot:
        self.calls.append((id_, ref))
        return RestoredSnapshot(BEFORE, NOW, ())

    async def old(self, id_: str) -> int:
        if id_ == ONE:
            raise TaskspaceError("its clone is missing", "")
        return {TWO: 3, GONE: 5}.get(id_, 0)

    async def prune(self, id_: str, days: float = 0) -> int:
        del days
        if id_ == ONE:
            raise GitRunError("git timed out", "")
        return await self.old(id_)


class OneTrash(Trash):
    """Reports and restores without git."""

    async def report(self, id_: str) -> DeletionReport:
        found = Finding(Risk.UNTRACKED, 1, "1 new file: a.txt")
        return DeletionReport(id_, (found,), (Unknown(Risk.STASH, "git timed out"),))

    async def undo(self, id_: str) -> tuple[Taskspace, tuple[str, ...]]:
        return await self._context.get(id_), ("its branch was made again",)


class Scripted(Engine):
    """An engine with a given outcome of each landing."""

    def __init__(self, context: EngineContext) -> None:
        super().__init__(context)
        self.past = self.history = History(context)
        self.trash = OneTrash(context, self.presence, self.spawning.wake)
        self.outcome: LandOutcome = Landed("", "")
        self.options: list[tuple[str, LandOptions]] = []

    async def land(self, id_: str, options: LandOptions) -> LandOutcome:
        self.options.append((id_, options))
        return self.outcome

    async def radar(self, project: Path) -> list[Overlap]:
        assert project == Path("/p")
        return OVERLAPS


class Begun(Resolving):
    """Gives the agent every conflict."""

    async def begin(
        self, taskspace: Taskspace, conflict: LandConflict, options: LandOptions
    ) -> str:
        return f"{taskspace.name} resolves {len(conflict.conflicts)} by {options.join}"


class Requests:
    """Handlers over three tasks without a clone, and the progress that they report."""

    def __init__(self, folder: Path) -> None:
        self.scene = open_scene(folder)
        self.engine = Scripted(self.scene.context)
        self.served: Served = serve(self.engine, folder)
        live = self.served.live
        begun = Begun(self.engine, self.served.store, live)
        self._answers = self.served.worktrees.answers()
        self._answers.extend(LandingHandlers(self.engine, self.served.agents, begun).answers())
        self.said: list[str] = []

    async def ask(self, message: BusRequest[Any]) -> Any:
        return await self._answers.requests[message.about.type](message, asked(self.said))


@pytest.fixture
async def user(tmp_path: Path) -> AsyncGenerator[Requests]:
    made = Requests(tmp_path)
    names: Sequence[tuple[str, str]] = ((ONE, "one"), (TWO, "two"), (THREE, "three"))
    for id_, name in names:
        await made.scene.context.put(replace(TASK, id=id_, name=name))
    yield made
    made.scene.engine.close()


@pytest.mark.requirement("tasks.by-message")
@pytest.mark.parametrize(
    ("outcome", "reply"),
    [
        (
            Landed("abc", "main", ("a note",)),
            Landing(
                "landed",
                (
                    *("one has landed on main", f"`symposium task rm {ONE[:8]}` deletes it"),
                    *("a note", *WARNINGS),
                ),
                "abc",
            ),
        ),
        (
            Landed("abc", "main", is_news=False),
            Landing(
                "landed",
                (
                    "one has nothing to land: main has all its changes",
                    *(f"`symposium task rm {ONE[:8]}` deletes it", *WARNINGS),
                ),
                "abc",
            ),
        ),
        (
            LandConflict("main", (LINES, WHOLE), "0123456789abcdef"),
            Landing(
                "conflict",
                (
                    "one conflicts with main; nothing was changed",
                    *("a.txt:1-3, 9-9 (content)", "b.bin (binary)"),
                    f"to let its agent resolve it: symposium task land {ONE[:8]} --resolve",
                    f"to resolve it yourself: {BY_HAND} (the latest main), then land again",
                    *WARNINGS,
                ),
            ),
        ),
        (
            ChecksFailed(CommandFailure("make test", 2), ("tail",)),
            Landing(
                "checks_failed",
                (
                    "a check of one fails; its base is unchanged",
                    *("`make test` failed with exit code 2", *WARNINGS),
                ),
            ),
        ),
    ],
)
async def test_outcome_of_a_landing_is_reported_with_conflicts_of_other_tasks(
    user: Requests, outcome: LandOutcome, reply: Landing
) -> None:
    user.engine.outcome = outcome

    message = LandTaskspace(taskspace_uuid=ONE, join="merge", is_pushed=True)
    assert await user.ask(message) == reply
    assert user.engine.options == [(ONE, LandOptions(Join.MERGE, is_pushed=True))]
    assert user.said == ["checking for conflicts with other tasks", "landing"]


@pytest.mark.requirement("tasks.by-message", "tasks.environment")
async def test_agent_that_resolves_a_conflict_gets_the_environment(
    user: Requests, tmp_path: Path
) -> None:
    user.engine.outcome = LandConflict("main", (LINES,), "0123456789abcdef")
    async with hand_over_environment({"TOKEN": "t"}, tmp_path / "e") as socket:
        message = LandTaskspace(taskspace_uuid=ONE, resolve_conflicts=True, environment=socket)
        reply = await user.ask(message)

    assert reply == Landing(
        "resolving",
        (
            "one conflicts with main; nothing was changed",
            *("a.txt:1-3, 9-9 (content)", "one resolves 1 by rebase"),
            "nothing lands until you approve it in `symposium inbox`",
            f"to follow its agent: symposium task attach {ONE[:8]}",
            *WARNINGS,
        ),
    )
    assert user.served.agents.environments.lent(ONE) == {"TOKEN": "t"}


@pytest.mark.requirement("tasks.by-message")
async def test_landing_is_shown_with_its_stage_and_the_last_commit_that_landed(
    user: Requests,
) -> None:
    await user.scene.context.put(replace(TASK, landed="abc", landed_at="2026-01-02"))
    await user.engine.resolutions.put(
        Resolution(ONE, ResolutionStage.WORKING, 1, "2026-01-03", "main", "def")
    )

    assert await user.ask(ShowLanding(taskspace_uuid=ONE)) == LandingShown(
        stage="working", landed="abc", landed_at="2026-01-02"
    )
    assert await user.ask(ShowLanding(taskspace_uuid=TWO)) == LandingShown()


@pytest.mark.requirement("tasks.by-message")
async def test_snapshot_and_undo_name_the_states_and_the_parts_that_were_not_restored(
    user: Requests,
) -> None:
    snap = SnapshotTaskspace(taskspace_uuid=ONE, reason="tool call", called_at=7.0)
    taken = await user.ask(snap)
    undone = await user.ask(UndoTaskspace(taskspace_uuid=ONE))
    back = await user.ask(UndoTaskspace(taskspace_uuid=ONE, snapshot="ref-1.0"))

    assert taken == Snapped(NOW_VIEW)
    assert undone == Undone(NOW_VIEW, BEFORE_VIEW, ("a note",))
    assert back == Undone(BEFORE_VIEW, NOW_VIEW, ())
    assert user.engine.past.calls == [(ONE, "tool call", 7.0), (ONE, "undo"), (ONE, "ref-1.0")]


@pytest.mark.requirement("tasks.by-message")
async def test_deletion_and_its_undo_name_what_is_lost_unknown_and_not_restored(
    user: Requests,
) -> None:
    store = user.served.store
    store.add(SessionSpec(ONE, SessionKind.ACP, ("agent",), "/"))
    store.write_state(ONE, ServerSessionState(Status.EXITED))
    entry = await user.engine.records.log(ONE, "half", "info")
    report = await user.ask(ReportTaskspace(taskspace_uuid=ONE))
    restored = await user.ask(RestoreTaskspace(taskspace_uuid=ONE))

    unknown = f"{Risk.STASH}: git timed out"
    assert report == SafetyReport(
        is_safe=False, lines=("1 new file: a.txt", f"not known: {unknown}"), unknowns=(unknown,)
    )
    assert restored.lines == ("its branch was made again",)
    assert (restored.taskspace.session, restored.taskspace.last.number) == ("exited", entry.number)


@pytest.mark.requirement("tasks.by-message")
async def test_task_whose_snapshots_cannot_be_collected_is_named_and_stops_no_other(
    user: Requests,
) -> None:
    archived = replace(TASK, id=GONE, standing=TaskState.ARCHIVED, archived_at="2999-01-01")
    await user.scene.context.put(archived)
    looked = await user.ask(CollectTaskspaces())
    done = await user.ask(CollectTaskspaces(is_applied=True))

    assert looked == Collected(
        ("one is unchanged: its clone is missing", "two: 3 old snapshots to remove")
    )
    assert done == Collected(("one is unchanged: git timed out", "two: 3 old snapshots removed"))


@pytest.mark.requirement("tasks.radar")
async def test_overlaps_are_listed_with_the_lines_of_both_tasks_or_the_problem(
    user: Requests,
) -> None:
    lines = ConflictView("a.txt", "content", ((1, 3), (9, 9)), ((2, 2),))
    whole = ConflictView("b.bin", "binary")
    binary = ("b.bin (binary)",)

    assert await user.ask(FindOverlaps(project="/p")) == Overlaps(
        (
            OverlapView(ONE, TWO, ("a.txt:1-3, 9-9 (content)", *binary), (lines, whole)),
            OverlapView(THREE, ONE, ("could not be compared: no tree",), (), "no tree"),
            OverlapView(TWO, THREE, binary, (whole,)),
            OverlapView(ONE, BASE, binary, (whole,)),
            OverlapView(ONE, GONE, binary, (whole,)),
        )
    )

"""Protection of other worktrees, commits, the base, and the store."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from sqlite3 import Connection, connect

import pytest
from tests.support.task_harness import (
    EngineOptions,
    Scene,
    git,
    open_scene,
    there,
    tree_of,
)

from symposium.tasks.deletion.removal import BranchAction, remove
from symposium.tasks.deletion.trash import DeletionConsent
from symposium.tasks.land import LandOptions
from symposium.tasks.model import AbsentError, StageError, TaskspaceError
from symposium.tasks.projects import open_project
from symposium.tasks.store import ShieldedTasks
from symposium.tasks.tables import STAGES, unfinished


def at_stage(place: Path, wanted: str, act: Callable[[], object]) -> Scene:
    """A scene in which `act` runs right after a stage."""

    def passed(stage: str) -> None:
        if stage == wanted:
            act()

    return open_scene(place, EngineOptions(passed=passed))


@pytest.mark.requirement("taskspaces.failure-leaves-nothing")
@pytest.mark.parametrize("lock", [(), ("--lock", "--reason", "mine")])
async def test_rollback_of_a_creation_keeps_another_worktree_at_its_path(
    lock: tuple[str, ...], place: Path
) -> None:
    path = place / "clone.tasks" / "fix-login"

    def take() -> None:
        git("worktree", "add", "-q", *lock, "-b", "other", str(path), cwd=place / "clone")
        (path / "work.txt").write_text("precious\n", encoding="utf-8")

    scene = at_stage(place, "create.fetched", take)
    with pytest.raises(StageError, match=r"create\.worktree"):
        await scene.make()

    assert (path / "work.txt").read_text(encoding="utf-8") == "precious\n"
    assert git("branch", "--show-current", cwd=path) == "other"
    assert await scene.engine.taskspaces() == []
    scene.engine.close()


@pytest.mark.requirement("taskspaces.failure-reported")
async def test_failure_is_reported_when_its_rollback_fails_too(place: Path) -> None:
    clone = place / "clone"
    scene = at_stage(place, "create.fetched", lambda: clone.rename(place / "moved"))

    with pytest.raises(StageError, match=r"create\.worktree"):
        await scene.make()

    (place / "moved").rename(clone)
    recovered = await scene.again().engine.start()
    assert recovered.lines == ("Fix login: its creation was rolled back",)


@pytest.mark.requirement("taskspaces.failure-reported", "taskspaces.ended-at-start")
async def test_failed_rollback_of_a_complete_worktree_is_finished_at_the_next_start(
    place: Path,
) -> None:
    clone, moved = place / "clone", place / "moved"

    def fail() -> None:
        clone.rename(moved)
        raise RuntimeError

    scene = at_stage(place, "create.worktree", fail)
    with pytest.raises(RuntimeError):
        await scene.make()
    moved.rename(clone)

    recovered = await scene.again().engine.start()

    assert recovered.lines == ("Fix login: its creation was rolled back",)
    assert not there(place / "clone.tasks")
    assert git("branch", "--list", "task/*", cwd=clone) == ""


@pytest.mark.requirement("taskspaces.failure-reported")
async def test_engine_waits_for_a_rollback() -> None:
    undertakings = ShieldedTasks()
    seen: list[bool] = []

    async def fails() -> None:
        seen.append(undertakings.is_empty)
        raise AbsentError("the clone is gone", "")

    await undertakings.after_failure(fails())

    assert seen == [False]
    assert undertakings.is_empty


@pytest.mark.requirement("taskspaces.branch-kept")
async def test_branch_that_moved_after_the_archive_was_written_is_kept(place: Path) -> None:
    clone = place / "clone"

    def move() -> None:
        tree = git("rev-parse", "main^{tree}", cwd=clone)
        newest = git("commit-tree", "-m", "newest", "-p", "main", tree, cwd=clone)
        git("update-ref", "refs/heads/task/fix-login", newest, cwd=clone)

    scene = at_stage(place, "delete.worktree", move)
    made = await scene.make()
    assert made.branch == "task/fix-login"

    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE, BranchAction.DROP)

    assert git("log", "-1", "--format=%s", made.branch, cwd=clone) == "newest"
    scene.engine.close()


@pytest.mark.requirement("taskspaces.own-checkout")
async def test_main_checkout_of_a_clone_is_never_removed(scene: Scene) -> None:
    made = await scene.make()
    wrong = replace(made, worktree=str(scene.clone))
    (scene.clone / "work.txt").write_text("precious\n", encoding="utf-8")
    before = tree_of(scene.clone)

    repository = (await open_project(scene.clone)).repository
    with pytest.raises(TaskspaceError, match="own checkout"):
        await remove(scene.context, wrong, repository, BranchAction.KEEP)

    assert tree_of(scene.clone) == before


@pytest.mark.requirement("taskspaces.ports-released")
async def test_ports_are_free_after_their_task_is_deleted(scene: Scene) -> None:
    first, second = await scene.make("first"), await scene.make("second")

    await scene.engine.trash.delete(first.id, DeletionConsent.ARCHIVE)
    third = await scene.make("third")

    assert first.ports is not None
    assert third.ports == first.ports
    assert second.ports != first.ports


@pytest.mark.requirement("taskspaces.stages-told", "taskspaces.ended-at-start")
async def test_each_stage_is_recorded_before_it_is_announced(place: Path) -> None:
    recorded: dict[str, str | None] = {}

    def passed(stage: str) -> None:
        with closing(connect(place / "state" / "taskspaces.db")) as connection:
            row = connection.execute("SELECT stage FROM operation").fetchone()
        recorded[stage] = row and row[0]

    scene = open_scene(place, EngineOptions(passed=passed))
    made = await scene.make()
    scene.commit(Path(made.worktree), "mine", "x")
    scene.commit(scene.upstream, "theirs", "x")
    await scene.engine.land(made.id, LandOptions())
    left = await scene.context.journal.read(unfinished)
    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    await scene.engine.trash.undo(made.id)
    scene.engine.close()

    kinds = {"create", "delete", "undo", "land"}
    expected = {each: each for each in STAGES if each.partition(".")[0] in kinds}
    without_row = dict.fromkeys(("create.ready", "delete.done", "undo.done"))
    # These stages are announced only: a start repeats the work since the stage before.
    earlier = {
        "undo.metadata": "undo.restored",
        "land.moved": "land.replayed",
        "land.done": "land.forwarded",
    }
    assert recorded == {**expected, **without_row, **earlier}
    assert left == []


@pytest.mark.requirement("taskspaces.land-undo")
async def test_landing_snapshots_the_state_before_it(scene: Scene) -> None:
    made = await scene.make()
    worktree = Path(made.worktree)
    scene.commit(scene.upstream, "theirs", "x")
    tip = scene.commit(worktree, "mine", "x")

    await scene.engine.land(made.id, LandOptions())
    kept = await scene.engine.history.snapshots(made.id)
    [before] = [each for each in kept if each.reason == "before landing"]

    assert before.tip == tip
    await scene.engine.history.restore(made.id, before.ref)
    assert git("rev-parse", "HEAD", cwd=worktree) == tip


@pytest.mark.requirement("taskspaces.land-refuses")
async def test_base_that_moved_during_the_checks_is_kept(place: Path) -> None:
    clone = place / "clone"
    moved: list[str] = []

    def move() -> None:
        tree = git("rev-parse", "main^{tree}", cwd=clone)
        moved.append(git("commit-tree", "-m", "theirs", "-p", "main", tree, cwd=clone))
        git("update-ref", "refs/heads/main", moved[0], cwd=clone)

    git("switch", "-qc", "elsewhere", cwd=clone)
    scene = at_stage(place, "land.checked", move)
    made = await scene.make()
    scene.commit(Path(made.worktree), "mine", "x")

    with pytest.raises(TaskspaceError, match="has new commits"):
        await scene.engine.land(made.id, LandOptions())

    assert git("rev-parse", "main", cwd=clone) == moved[0]
    scene.engine.close()


@pytest.mark.requirement("taskspaces.log-durable")
async def test_store_syncs_to_disk_at_every_commit(scene: Scene) -> None:
    def setting(name: str) -> Callable[[Connection], object]:
        def read(connection: Connection) -> object:
            return connection.execute(f"PRAGMA {name}").fetchone()

        return read

    # FULL, in a write-ahead log: a commit returns once the log is synced (SQLite, `synchronous`).
    assert await scene.context.journal.read(setting("synchronous")) == (2,)
    assert await scene.context.journal.read(setting("journal_mode")) == ("wal",)
    assert there(scene.root / "state" / "taskspaces.db-wal")

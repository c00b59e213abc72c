"""Expired archives and snapshots, listed and removed for the user."""

from pathlib import Path

import pytest
from tests.support.task_harness import EngineOptions, open_scene
from tests.support.task_views import asked, serve

from localio.text import minute_of
from symposium.bus.messages.worktrees import Collected, CollectTaskspaces
from symposium.tasks.deletion.trash import DeletionConsent

DAY = 86400.0


@pytest.mark.requirement("tasks.by-message")
async def test_expired_archives_and_snapshots_are_listed_and_removed_only_on_request(
    place: Path, tmp_path: Path
) -> None:
    clock = [1_000_000_000.0]
    scene = open_scene(place, EngineOptions(now=lambda: clock[0]))
    served = serve(scene.engine, tmp_path)

    async def collect(*, is_applied: bool) -> Collected:
        message = CollectTaskspaces(is_applied=is_applied)
        return await served.worktrees.answers().requests[message.about.type](message, asked())

    made, other = [await scene.make(name) for name in ("Fix login", "deleted")]
    (Path(other.worktree) / "new").write_text("work", encoding="utf-8")
    await scene.engine.trash.delete(other.id, DeletionConsent.ARCHIVE)
    archived = (await scene.engine.get(other.id)).archived_at
    for number in range(3):
        clock[0] += DAY
        (Path(made.worktree) / "n").write_text(str(number), encoding="utf-8")
        await scene.engine.history.snapshot(made.id, str(number))
    early = await collect(is_applied=False)
    count = len(await scene.engine.history.snapshots(made.id))
    clock[0] += 60 * DAY
    looked = [await collect(is_applied=False) for _ in range(2)]
    done = await collect(is_applied=True)
    left = len(await scene.engine.history.snapshots(made.id))
    after = await collect(is_applied=False)
    scene.engine.close()

    archive = f"the archive of deleted (task deleted {minute_of(archived or '')})"
    snapshots = f"Fix login: {count - 1} old snapshots"
    assert looked == [Collected(lines=(archive, f"{snapshots} to remove"))] * 2
    removed = f"removed the archive of {other.id}"
    assert done == Collected(lines=(removed, f"{snapshots} removed"))
    assert (left, early, after) == (1, Collected(lines=()), Collected(lines=()))

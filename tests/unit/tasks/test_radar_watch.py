"""The log of a task reports its overlaps with other tasks."""

import shutil
from pathlib import Path

import pytest
from tests.support.task_harness import Scene

from symposium.tasks.deletion.trash import DeletionConsent
from symposium.tasks.handlers.overlap_watch import OverlapWatcher, lines_for
from symposium.tasks.merges import Conflict, LineRange
from symposium.tasks.model import Taskspace
from symposium.tasks.overlaps import Overlap

FIRST = "changes the same lines as 'two': README.md"
GONE = "no longer changes the same lines as 'two'"


async def messages(scene: Scene, taskspace: Taskspace) -> list[str]:
    return [each.message for each in await scene.engine.logs.entries(taskspace.id)]


def write(taskspace: Taskspace, text: str) -> None:
    (Path(taskspace.worktree) / "README.md").write_text(text, encoding="utf-8")


@pytest.mark.requirement("tasks.overlap-withdrawn")
@pytest.mark.parametrize("is_restarted", [False, True])
async def test_overlap_is_withdrawn_when_the_other_task_is_deleted(
    scene: Scene, *, is_restarted: bool
) -> None:
    one, two = await scene.make("one"), await scene.make("two")
    write(one, "mine\n")
    write(two, "theirs\n")
    watch = OverlapWatcher(scene.engine)
    await watch.look()
    await watch.look()
    assert await messages(scene, one) == [FIRST]

    await scene.engine.trash.delete(two.id, DeletionConsent.ARCHIVE)
    watch = OverlapWatcher(scene.engine) if is_restarted else watch
    await watch.look()
    await watch.look()

    assert await messages(scene, one) == [FIRST, GONE]
    assert watch.lines(one.id) == ()


@pytest.mark.requirement("tasks.overlap-withdrawn")
async def test_returning_overlap_is_reported_again(scene: Scene) -> None:
    one, two = await scene.make("one"), await scene.make("two")
    write(one, "mine\n")
    for text in ("theirs\n", "# Sample\n", "theirs again\n"):
        write(two, text)
        await OverlapWatcher(scene.engine).look()

    assert await messages(scene, one) == [FIRST, GONE, FIRST]


@pytest.mark.requirement("tasks.overlap-withdrawn")
async def test_overlap_is_kept_while_tasks_cannot_be_compared(scene: Scene) -> None:
    one, two = await scene.make("one"), await scene.make("two")
    write(one, "mine\n")
    write(two, "theirs\n")
    await OverlapWatcher(scene.engine).look()

    shutil.move(scene.clone / ".git" / "objects", scene.root / "objects")
    await OverlapWatcher(scene.engine).look()
    shutil.move(scene.root / "objects", scene.clone / ".git" / "objects")

    assert await messages(scene, one) == [FIRST]


@pytest.mark.requirement("tasks.radar")
def test_overlap_names_the_lines_of_the_task_that_is_asked_about() -> None:
    ours, theirs = (LineRange(1, 3), LineRange(9, 9)), (LineRange(2, 4),)
    conflicts = Conflict("a.txt", "content", ours, theirs), Conflict("b.bin", "binary")
    overlap = Overlap("one", "two", conflicts)

    assert lines_for(overlap, "one") == ["a.txt:1-3, 9-9 (content)", "b.bin (binary)"]
    assert lines_for(overlap, "two") == ["a.txt:2-4 (content)", "b.bin (binary)"]

"""The log of a task reports its overlaps with other tasks."""

import shutil
from pathlib import Path

import pytest
from tests.support.task_harness import Scene
from tests.support.task_views import asked, serve

from symposium.bus.messages.worktrees import ConflictView, FindOverlaps, Overlaps, OverlapView
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


async def listed(scene: Scene, folder: Path) -> object:
    message = FindOverlaps(project=str(scene.clone))
    answers = serve(scene.engine, folder).landing.answers()
    return await answers.requests[message.about.type](message, asked())


@pytest.mark.requirement("tasks.overlap-withdrawn", "tasks.radar")
@pytest.mark.parametrize("is_restarted", [False, True])
async def test_overlap_is_withdrawn_when_the_other_task_is_deleted(
    scene: Scene, tmp_path: Path, *, is_restarted: bool
) -> None:
    one, two = await scene.make("one"), await scene.make("two")
    write(one, "mine\n")
    write(two, "theirs\n")
    watch = OverlapWatcher(scene.engine)
    changed: list[tuple[str, str]] = []
    watch.on_change = lambda id_, cause: changed.append((id_, cause))
    await watch.look()
    await watch.look()
    assert await messages(scene, one) == [FIRST]
    assert sorted(changed) == sorted([(one.id, "conflicts"), (two.id, "conflicts")])
    assert watch.lines(one.id) == ("with 'two': README.md:1-1 (content)",)
    assert await listed(scene, tmp_path) == Overlaps(
        overlaps=(
            OverlapView(
                *(two.id, one.id, ("README.md:1-1 (content)",)),
                (ConflictView("README.md", "content", ((1, 1),), ((1, 1),)),),
            ),
        )
    )

    await scene.engine.trash.delete(two.id, DeletionConsent.ARCHIVE)
    watch = OverlapWatcher(scene.engine) if is_restarted else watch
    await watch.look()
    await watch.look()

    assert await messages(scene, one) == [FIRST, GONE]
    assert watch.lines(one.id) == ()
    assert len(changed) == (2 if is_restarted else 4)


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

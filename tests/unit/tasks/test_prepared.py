"""The prepared task that tests copy equals a newly created one."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.task_harness import (
    Scene,
    copy_template,
    files_of,
    git,
    open_scene,
)

from symposium.tasks.model import Taskspace


def listed(scene: Scene, made: Taskspace) -> set[str]:
    """Files of a scene without git objects, with the task's id replaced."""
    names = {name for name in files_of(scene.root) if "/objects/" not in name}
    own = {re.sub(r"^state/snapshots/\w+", "store", name).replace(made.id, "ID") for name in names}
    return {re.sub(r"/ID/\d+$", "/ID/STAMP", name) for name in own}


def seen(scene: Scene, made: Taskspace) -> list[str]:
    """Output of git about a task."""
    worktree = Path(made.worktree)
    words = ["status --branch --short", "log --format=%H", "stash list", "fsck", "config --list"]
    texts = [git(*each.split(), cwd=worktree) for each in words]
    texts += [git("worktree", "list", "--porcelain", cwd=scene.clone)]
    return [each.replace(str(scene.root), "ROOT").replace(made.id, "ID") for each in texts]


@pytest.mark.requirement("house.prepared-taskspace")
async def test_copied_task_equals_a_created_task(
    scene: Scene, template: Path, tmp_path: Path
) -> None:
    copied = await scene.made()
    other = open_scene(copy_template(template, tmp_path / "other"))
    made = await other.make()

    project, worktree = str(scene.clone), copied.worktree
    same = replace(made, id=copied.id, project=project, worktree=worktree)
    assert replace(same, created_at=copied.created_at, activated_at=copied.activated_at) == copied
    assert await scene.engine.taskspaces() == [copied]
    assert listed(scene, copied) == listed(other, made)
    assert seen(scene, copied) == seen(other, made)
    for name, (_, text) in files_of(scene.root).items():
        assert b"/prepared" not in text, name
    reasons = [
        [each.reason for each in await there.engine.history.snapshots(task.id)]
        for there, task in ((scene, copied), (other, made))
    ]
    assert reasons[0] == reasons[1] != []
    other.engine.close()


@pytest.mark.requirement("house.prepared-taskspace")
async def test_prepared_task_is_refused_in_a_changed_directory(scene: Scene) -> None:
    (scene.clone / "README.md").write_text("# Simple\n", encoding="utf-8")

    with pytest.raises(AssertionError, match="the place has changed"):
        await scene.made()

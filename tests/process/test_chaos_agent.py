"""An agent destroys its worktree in fifty ways; undo brings every byte back."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.chaos import MORE_WAYS, WAYS, whole, work_in
from tests.support.taskspace_scenes import Scene, make_template, open_scene, settings_file, tree_of

from symposium.taskspaces.model import Taskspace

pytestmark = pytest.mark.chaos


ALL_WAYS = {**WAYS, **MORE_WAYS}


@pytest.mark.requirement("house.samples-present", "snapshots.chaos")
def test_there_are_more_than_a_hundred_ways() -> None:
    assert len(ALL_WAYS) >= 106


@pytest.fixture(scope="module")
def chaos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Scene, Taskspace]]:
    """One taskspace for all: undo makes it as good as new."""
    directory = tmp_path_factory.mktemp("chaos")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(directory / "home"))
        patch.setenv("GIT_CONFIG_GLOBAL", str(settings_file(directory)))
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        scene = open_scene(make_template(directory))
        taskspace = asyncio.run(scene.make())
        work_in(Path(taskspace.worktree))
        yield scene, taskspace
        scene.engine.close()


def run(commands: str, worktree: Path) -> None:
    subprocess.run(["/bin/sh", "-c", commands], cwd=worktree, capture_output=True, check=False)


@pytest.mark.requirement("snapshots.chaos")
@pytest.mark.parametrize("way", ALL_WAYS)
async def test_whatever_an_agent_does_to_its_worktree_undo_brings_it_back(
    way: str, chaos: tuple[Scene, Taskspace]
) -> None:
    scene, taskspace = chaos
    worktree = Path(taskspace.worktree)
    await scene.engine.history.snapshot(taskspace.id, "tool call")
    before, tree = whole(worktree), tree_of(worktree)

    run(ALL_WAYS[way], worktree)
    is_changed = not (worktree / ".git").is_file() or tree_of(worktree) != tree
    restored = await scene.engine.history.undo(taskspace.id)

    assert whole(worktree) == before
    assert is_changed or restored.before.key != restored.snapshot.key

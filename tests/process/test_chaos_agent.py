"""An agent destroys its worktree in more than a hundred ways; undo restores every byte."""

import os
import subprocess
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from tests.support.chaos import ALL_WAYS, whole, work_in
from tests.support.task_harness import Scene, make_template, open_scene, settings_file, tree_of

from symposium.tasks.model import Taskspace

pytestmark = pytest.mark.chaos


@pytest.mark.requirement("house.samples-present", "snapshots.chaos")
def test_list_has_more_than_a_hundred_ways() -> None:
    assert len(ALL_WAYS) >= 130


class Taskspaces:
    """One taskspace for many ways: undo restores it. After a failure, a new one."""

    def __init__(self, directories: pytest.TempPathFactory) -> None:
        self._directories = directories
        self._open: tuple[Scene, Taskspace] | None = None

    @asynccontextmanager
    async def one(self) -> AsyncGenerator[tuple[Scene, Taskspace]]:
        """A taskspace with work in it."""
        if self._open is None:
            directory = self._directories.mktemp("chaos")
            os.environ["HOME"] = str(directory / "home")
            os.environ["GIT_CONFIG_GLOBAL"] = str(settings_file(directory))
            scene = open_scene(make_template(directory))
            taskspace = await scene.make()
            work_in(Path(taskspace.worktree))
            self._open = scene, taskspace
        try:
            yield self._open
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the open scene."""
        if self._open is not None:
            self._open[0].engine.close()
            self._open = None


@pytest.fixture(scope="module")
def chaos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Taskspaces]:
    """Taskspaces with their own git user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", os.environ.get("HOME", ""))
        patch.setenv("GIT_CONFIG_GLOBAL", "")
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        taskspaces = Taskspaces(tmp_path_factory)
        yield taskspaces
        taskspaces.close()


def run(commands: str, worktree: Path) -> None:
    subprocess.run(["/bin/sh", "-c", commands], cwd=worktree, capture_output=True, check=False)


@pytest.mark.requirement("snapshots.chaos")
@pytest.mark.parametrize("way", ALL_WAYS)
async def test_undo_restores_a_destroyed_worktree(way: str, chaos: Taskspaces) -> None:
    async with chaos.one() as (scene, taskspace):
        worktree = Path(taskspace.worktree)
        await scene.engine.history.snapshot(taskspace.id, "tool call")
        before, tree = whole(worktree), tree_of(worktree)

        run(ALL_WAYS[way], worktree)
        is_changed = not (worktree / ".git").is_file() or tree_of(worktree) != tree
        restored = await scene.engine.history.undo(taskspace.id)

        assert whole(worktree) == before
        assert is_changed or restored.before.key != restored.snapshot.key


@pytest.mark.requirement("snapshots.chaos")
async def test_failed_way_does_not_affect_the_next(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "")
    taskspaces = Taskspaces(tmp_path_factory)
    used: list[str] = []
    with suppress(AssertionError):
        async with taskspaces.one() as (_, task):
            used.append(task.worktree)
            raise AssertionError
    for _ in range(2):
        async with taskspaces.one() as (_, task):
            used.append(task.worktree)
    taskspaces.close()

    spoiled, other, same = used
    assert spoiled != other
    assert other == same

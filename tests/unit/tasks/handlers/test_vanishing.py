"""Tasks that are deleted between a lookup and the next use."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.task_harness import Scene, make_template, open_scene, settings_file
from tests.support.task_views import asked, serve

from symposium.bus.messages.tasks import ListTaskspaces, Tasks
from symposium.tasks.engine import Engine
from symposium.tasks.engine_context import EngineContext
from symposium.tasks.handlers.overlap_watch import OverlapWatcher
from symposium.tasks.model import Taskspace
from symposium.tasks.overlaps import Overlap
from symposium.tasks.queries import Page, TaskQueries
from symposium.tasks.tables import forget


@dataclass(frozen=True, slots=True)
class ForgetfulQueries(TaskQueries):
    """Queries that delete a task right after a list has found it."""

    lost: str

    async def page(self, page: Page) -> tuple[list[Taskspace], int]:
        found = await TaskQueries.page(self, page)
        await self.context.journal.write(lambda connection: forget(connection, self.lost))
        return found


class Forgetful(Engine):
    """An engine that deletes a task right after a lookup."""

    def __init__(self, context: EngineContext, lost: str) -> None:
        super().__init__(context)
        self._journal, self._lost = context.journal, lost
        self.queries = ForgetfulQueries(context, lost)

    async def radar(self, project: Path) -> list[Overlap]:
        found = await Engine.radar(Engine(self._context), project)
        await self._journal.write(lambda connection: forget(connection, self._lost))
        return found


@pytest.fixture
async def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Scene]:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings_file(tmp_path)))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    made = open_scene(make_template(tmp_path))
    yield made
    made.engine.close()


@pytest.mark.requirement("tasks.vanishing")
async def test_list_omits_a_task_deleted_during_the_lookup(scene: Scene, tmp_path: Path) -> None:
    stays, goes = await scene.make("stays"), await scene.make("goes")
    engine = Forgetful(scene.context, goes.id)
    requests = serve(engine, tmp_path).handlers
    answer = requests.answers().requests[ListTaskspaces.about.type]
    listed = await answer(ListTaskspaces(), asked())

    assert isinstance(listed, Tasks)
    assert [each.id for each in listed.taskspaces] == [stays.id]


@pytest.mark.requirement("tasks.vanishing")
async def test_overlap_with_a_deleted_task_is_reported_to_the_other_task(
    scene: Scene,
) -> None:
    made = [await scene.make(name) for name in ("goes", "stays")]
    for each in made:
        (Path(each.worktree) / "README.md").write_text(each.name, encoding="utf-8")
    goes, stays = made
    engine = Forgetful(scene.context, goes.id)
    await OverlapWatcher(engine).look()

    (entry,) = await scene.engine.logs.entries(stays.id)
    assert "README.md" in entry.message

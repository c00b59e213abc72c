"""Answers in the inbox that fail."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.support.task_views import serve
from tests.support.taskspace_scenes import Scene, make_template, open_scene, settings_file

from symposium.agent_sessions.session import SessionError
from symposium.bus.errors import BusRefusedError
from symposium.daemon.tasks import inbox


@pytest.fixture
async def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Scene]:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings_file(tmp_path)))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    made = open_scene(make_template(tmp_path))
    yield made
    made.engine.close()


@pytest.mark.requirement("tasks.answer-fails")
@pytest.mark.parametrize("remembered", [0, 1000])
async def test_answer_that_fails_raises_its_own_error_and_the_item_still_waits(
    scene: Scene, tmp_path: Path, remembered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "REMEMBERED", remembered)
    served = serve(scene.engine, tmp_path)
    made = await scene.make("has no agent")
    asked = await scene.engine.records.signal(made.id, "which one?")
    id_ = f"question:{asked.number}"
    with pytest.raises(SessionError):
        await served.inbox.answer(id_, "the first one", "me")

    assert [each.id for each in await served.inbox.items()] == [id_]
    assert await served.inbox.answer(id_, "seen", "me") == "seen"
    assert await served.inbox.items() == []
    with pytest.raises(BusRefusedError):
        await served.inbox.answer(id_, "seen", "me")

"""Intervals of comparing tasks, and notifications for a user who is away."""

import json
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from tests.support.task_harness import Scene, make_template, open_scene, settings_file
from tests.support.task_views import serve

from symposium.tasks.handlers import notifications
from symposium.tasks.handlers.notification_log import TaskNotice
from symposium.tasks.handlers.notifications import Channels, Notifying, Tell, notify
from symposium.tasks.handlers.overlap_watch import OverlapWatcher
from symposium.tasks.model import TaskspaceError

NOW = 1_800_000_000.0


class EnoughError(Exception):
    """Raised to end the loop under test."""


@pytest.fixture
async def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Scene]:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings_file(tmp_path)))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    made = open_scene(make_template(tmp_path))
    yield made
    made.engine.close()


@pytest.mark.requirement("tasks.radar-watch")
@pytest.mark.parametrize(
    ("cost", "expected"), [(0.0, 2.0), (0.1, 2.0), (0.5, 6.0), (0.76, 9.12), (30.0, 60.0)]
)
async def test_tasks_are_compared_within_ten_seconds_unless_that_is_slow(
    scene: Scene, cost: float, expected: float
) -> None:
    times = iter((0.0, cost, cost, cost))
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        raise EnoughError

    with pytest.raises(EnoughError):
        await OverlapWatcher(scene.engine, pause, lambda: next(times)).run()

    assert pauses == [pytest.approx(expected)]


@pytest.mark.requirement("tasks.notify")
async def test_user_is_notified_only_if_configured_and_while_no_view_is_connected(
    scene: Scene, tmp_path: Path
) -> None:
    made = await scene.make("asks")
    await scene.engine.records.signal(made.id, "which one?")
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    views, notified = [0], list[TaskNotice]()
    notifying = Notifying(scene.engine, serve(scene.engine, tmp_path).inbox, home, lambda: views[0])

    async def tell(channels: Channels, notices: Sequence[TaskNotice]) -> bool:
        assert channels.command == ("say",)
        notified.extend(notices)
        return True

    await notifying.look(NOW, tell)
    unconfigured = list(notified)
    (home / "config.jsonc").write_text(json.dumps({"notify": {"command": ["say"]}}))
    views[0] = 1
    await notifying.look(NOW, tell)
    watched = list(notified)
    views[0] = 0
    await notifying.look(NOW, tell)
    await notifying.look(NOW + 1000, tell)

    assert (unconfigured, watched) == ([], [])
    reasons, link = ("question: which one?",), Path(made.worktree).as_uri()
    assert notified == [TaskNotice("asks", made.project, reasons, link, "symposium inbox")]


@pytest.mark.requirement("tasks.notify")
async def test_notifications_continue_after_a_failure(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Notifying):
        errors: ClassVar = [TaskspaceError("the journal is locked", ""), OSError("no disk")]

        async def look(self, now: float, notifier: Tell) -> None:
            del now
            assert notifier is notify
            raise self.errors.pop(0) if self.errors else EnoughError

    monkeypatch.setattr(notifications, "POLL_INTERVAL", 0)
    with pytest.raises(EnoughError):
        await Failing(scene.engine, serve(scene.engine, tmp_path).inbox, tmp_path, int).run()

    assert caplog.messages == [
        "cannot send notifications: the journal is locked",
        "cannot send notifications: no disk",
    ]

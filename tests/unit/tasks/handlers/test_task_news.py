"""Announcements of changes in tasks and in the inbox."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from tests.support.event_listener import Listener, Mailbox
from tests.support.task_harness import Scene, make_template, open_scene, settings_file
from tests.support.task_views import Served, serve

from symposium.bus.messages.announcements import (
    InboxChanged,
    SnapshotTaken,
    TaskLogged,
    TaskOutput,
    TaskspaceChanged,
    TaskspaceGone,
)
from symposium.bus.messages.tasks import InboxItem, TaskView
from symposium.tasks.deletion.trash import DeletionConsent
from symposium.tasks.events import Acknowledged, Passed, Removed, Said
from symposium.tasks.handlers.inbox import TaskInbox
from symposium.tasks.handlers.notification_log import TaskNotice
from symposium.tasks.handlers.notifications import Channels, Notifying
from symposium.tasks.handlers.task_news import TaskNews
from symposium.tasks.handlers.task_views import TaskViewing
from symposium.tasks.model import Taskspace, TaskspaceError


class Clock:
    """Time that passes only in pauses."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(0)
        self.now += seconds


@pytest.fixture
async def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Scene]:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings_file(tmp_path)))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    made = open_scene(make_template(tmp_path))
    yield made
    made.engine.close()


@pytest.fixture
def served(scene: Scene, tmp_path: Path) -> Served:
    return serve(scene.engine, tmp_path)


def forward_events(scene: Scene, news: TaskNews) -> None:
    """Pass all engine events so far to the announcements."""
    for event in scene.events:
        news.handle(event)
    scene.events.clear()


@pytest.mark.requirement("tasks.announced")
async def test_created_logged_and_deleted_tasks_are_announced(scene: Scene, served: Served) -> None:
    clock = Clock()
    bus = Listener(clock)
    news = TaskNews(scene.engine, served.viewing, served.inbox, clock, clock.pause)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(news.run(bus))
        await asyncio.sleep(0)
        made = await scene.make("announced")
        forward_events(scene, news)
        stage, changed = await bus.next(TaskOutput), await bus.next(TaskspaceChanged)
        await scene.engine.records.log(made.id, "half", "milestone", "commit abc")
        forward_events(scene, news)
        logged, after = await bus.next(TaskLogged), await bus.next(TaskspaceChanged)
        await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
        forward_events(scene, news)
        gone = await bus.next(TaskspaceGone)
        running.cancel()

    assert (stage.taskspace_uuid, (stage.stage or "").partition(".")[0]) == (made.id, "create")
    assert (changed.taskspace.name, changed.cause) == ("announced", "changed")
    assert (logged.entry.message, logged.entry.evidence) == ("half", "commit abc")
    assert after.taskspace.last == logged.entry
    assert gone == TaskspaceGone(taskspace_uuid=made.id, is_archived=True)


@pytest.mark.requirement("tasks.announced")
async def test_snapshot_is_announced_once_and_only_after_a_change(
    scene: Scene, served: Served
) -> None:
    clock = Clock()
    bus = Listener(clock)
    news = TaskNews(scene.engine, served.viewing, served.inbox, clock, clock.pause)
    made = await scene.make()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(news.run(bus))
        await asyncio.sleep(0)
        for text in ("one", "two"):
            (Path(made.worktree) / "new.txt").write_text(text, encoding="utf-8")
            for _ in range(2):
                await scene.engine.history.snapshot(made.id, text)
        forward_events(scene, news)
        found = [await bus.next(SnapshotTaken) for _ in range(2)]
        running.cancel()

    refs = [each.ref for each in (await scene.engine.history.snapshots(made.id))[-2:]]
    assert [each.snapshot.reason for each in found] == ["one", "two"]
    assert [each.snapshot.ref for each in found] == refs
    assert all(each.taskspace_uuid == made.id for each in found)


@pytest.mark.requirement("tasks.announced-rate")
async def test_announcements_are_limited_to_four_a_second_and_send_the_latest(
    scene: Scene, served: Served
) -> None:
    made = await scene.make()
    clock = Clock()
    bus = Listener(clock)
    news = TaskNews(scene.engine, served.viewing, served.inbox, clock, clock.pause)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(news.run(bus))
        for number in range(30):
            await scene.engine.records.log(made.id, f"line {number}", "info")
            for _ in range(5):
                news.changed(made.id, f"cause {number}")
        last = await bus.next(TaskspaceChanged)
        while last.cause != "cause 29":
            last = await bus.next(TaskspaceChanged)
        running.cancel()

    times = bus.at[TaskspaceChanged]
    assert last.taskspace.last is not None
    assert last.taskspace.last.message == "line 29"
    assert 1 < len(times) <= 30
    assert all(round(after - before, 6) >= 0.25 for before, after in pairwise(times))


@pytest.mark.requirement("tasks.announced-rate")
async def test_change_is_announced_once_and_delays_no_other_task(
    scene: Scene, served: Served
) -> None:
    one, two = [await scene.make(name) for name in ("one", "two")]
    clock = Clock()
    bus = Listener(clock)
    news = TaskNews(scene.engine, served.viewing, served.inbox, clock, clock.pause)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(news.run(bus))
        news.changed(one.id, "first")
        found = [await bus.next(TaskspaceChanged)]
        news.changed(one.id, "second")
        news.changed(two.id, "other")
        found += [await bus.next(TaskspaceChanged) for _ in range(2)]
        news.changed(two.id, "last")
        found.append(await bus.next(TaskspaceChanged))
        running.cancel()

    assert [(each.taskspace.name, each.cause) for each in found] == [
        *(("one", "first"), ("two", "other"), ("one", "second"), ("two", "last")),
    ]


@pytest.mark.requirement("tasks.announced-inbox")
async def test_inbox_announces_new_and_settled_items(scene: Scene, served: Served) -> None:
    made = await scene.make("asks")
    clock = Clock()
    bus = Listener(clock)
    news = TaskNews(scene.engine, served.viewing, served.inbox, clock, clock.pause)
    served.inbox.on_change = news.inbox_changed
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(news.run(bus))
        entries = [await scene.engine.records.signal(made.id, text) for text in ("one?", "two?")]
        forward_events(scene, news)
        came = await bus.next(InboxChanged)
        await served.inbox.snooze(f"question:{entries[1].number}")
        snoozed = await bus.next(InboxChanged)
        await served.inbox.answer(f"question:{entries[0].number}", "seen", "me")
        forward_events(scene, news)
        answered = await bus.next(InboxChanged)
        await scene.engine.records.acknowledge(entries[1].number)
        forward_events(scene, news)
        withdrawn = await bus.next(InboxChanged)
        running.cancel()

    assert ([each.text for each in came.added], came.waiting) == (["one?", "two?"], 2)
    assert [(each.text, bool(each.put_off_at)) for each in snoozed.added] == [("two?", True)]
    assert (snoozed.settled, snoozed.waiting) == ((), 2)
    (how,) = answered.settled
    assert (how.item, how.by, how.answer) == (came.added[0].id, "me", "seen")
    assert (bool(how.at), answered.added, answered.waiting) == (True, (), 1)
    assert [(each.item, each.by) for each in withdrawn.settled] == [(came.added[1].id, "")]


@pytest.mark.requirement("tasks.announced")
async def test_nothing_is_announced_without_listeners(scene: Scene, served: Served) -> None:
    clock = Clock()
    bus = Listener(clock, is_listening=False)
    news = TaskNews(scene.engine, served.viewing, served.inbox, clock, clock.pause)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(news.run(bus))
        made = await scene.make()
        await scene.engine.records.signal(made.id, "which?")
        forward_events(scene, news)
        for _ in range(20):
            await asyncio.sleep(0)
        running.cancel()

    assert bus.box.values == []


@pytest.mark.requirement("tasks.announced-inbox")
async def test_inbox_announces_that_items_of_a_deleted_task_are_withdrawn(
    scene: Scene, served: Served
) -> None:
    made = await scene.make("asks")
    clock = Clock()
    bus = Listener(clock)
    news = TaskNews(scene.engine, served.viewing, served.inbox, clock, clock.pause)
    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(news.run(bus))
        await scene.engine.records.signal(made.id, "one?")
        forward_events(scene, news)
        came = await bus.next(InboxChanged)
        await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
        for event in scene.events:
            if isinstance(event, Removed):
                news.handle(event)
        gone = await bus.next(InboxChanged)
        running.cancel()

    assert [each.item for each in gone.settled] == [each.id for each in came.added]
    assert gone.waiting == 0


class Interrupted(TaskViewing):
    """Views that cannot be read once."""

    def __init__(self, viewing: TaskViewing) -> None:
        self._viewing = viewing
        self.failed = asyncio.Event()

    async def views(self, found: Sequence[Taskspace]) -> list[TaskView]:
        if not self.failed.is_set():
            self.failed.set()
            raise TaskspaceError("the journal is locked", "")
        return await self._viewing.views(found)


class InterruptedInbox(TaskInbox):
    """An inbox that cannot be read once."""

    def __init__(self, inbox: TaskInbox) -> None:
        self._inbox = inbox
        self.failed = asyncio.Event()

    async def items(self) -> list[InboxItem]:
        if not self.failed.is_set():
            self.failed.set()
            raise OSError("no disk")
        return await self._inbox.items()


@pytest.mark.requirement("tasks.announced", "tasks.announced-inbox")
async def test_announcements_continue_after_a_failure(
    scene: Scene, served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    made = await scene.make("asks")
    await scene.engine.records.signal(made.id, "one?")
    clock = Clock()
    bus = Listener(clock)
    viewing, inbox = Interrupted(served.viewing), InterruptedInbox(served.inbox)
    news = TaskNews(scene.engine, viewing, inbox, clock, clock.pause)
    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(news.run(bus))
        news.changed(made.id, "logged")
        await viewing.failed.wait()
        await inbox.failed.wait()
        news.handle(Acknowledged(made.id, 1, ""))
        # Each of the two is read by its own task.
        found = {type(each): each for each in [await bus.box.next() for _ in range(2)]}
        running.cancel()

    changed, came = found[TaskspaceChanged], found[InboxChanged]
    assert isinstance(changed, TaskspaceChanged)
    assert isinstance(came, InboxChanged)
    assert set(caplog.messages) == {
        "cannot announce the inbox: no disk",
        "cannot announce that tasks changed: the journal is locked",
    }
    assert (changed.cause, [each.text for each in came.added]) == ("answered", ["one?"])


@pytest.mark.requirement("tasks.announced", "tasks.announced-inbox")
async def test_output_and_slow_stages_are_announced_and_a_new_listener_gets_the_whole_inbox(
    scene: Scene, served: Served
) -> None:
    made = await scene.make("asks")
    await scene.engine.records.signal(made.id, "one?")
    clock = Clock()
    bus, paused = Listener(clock), Mailbox[float]()

    async def pause(seconds: float) -> None:
        await clock.pause(seconds)
        paused.add(seconds)

    news = TaskNews(scene.engine, served.viewing, served.inbox, clock, pause)
    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(news.run(bus))
        await asyncio.sleep(0)
        for event in (
            Said(made.id, "half"),
            Passed(made.id, "log.mirrored"),
            Passed(made.id, "land.checked"),
        ):
            news.handle(event)
        output = [await bus.next(TaskOutput) for _ in range(2)]
        found: list[InboxChanged] = []
        for is_listening in (True, False, True):
            bus.is_listening = is_listening
            news.inbox_changed()
            await paused.next()
            found += [await bus.next(InboxChanged)] if is_listening else []
        running.cancel()

    assert output == [
        TaskOutput(taskspace_uuid=made.id, line="half"),
        TaskOutput(taskspace_uuid=made.id, stage="land.checked"),
    ]
    assert found[0] == found[1]
    assert [each.text for each in found[0].added] == ["one?"]


@pytest.mark.requirement("tasks.notify")
async def test_failed_notification_is_retried_unless_a_view_is_open(
    scene: Scene, served: Served, tmp_path: Path
) -> None:
    made = await scene.make("asks")
    views = [1]
    (tmp_path / "config.jsonc").write_text('{"notify": {"command": ["tell"]}}')
    notifying = Notifying(scene.engine, served.inbox, tmp_path, lambda: views[0])
    notified: list[list[str]] = []

    def notifier(*, works: bool) -> Callable[[Channels, Sequence[TaskNotice]], Awaitable[bool]]:
        async def tell(channels: Channels, notices: Sequence[TaskNotice]) -> bool:
            assert channels.command == ("tell",)
            notified.append([reason for each in notices for reason in each.reasons])
            return works

        return tell

    entry = await scene.engine.records.signal(made.id, "one?")
    await notifying.look(1000.0, notifier(works=True))
    views[0] = 0
    await notifying.look(2000.0, notifier(works=False))
    await notifying.look(3000.0, notifier(works=True))
    await notifying.look(4000.0, notifier(works=True))
    await scene.engine.records.signal(made.id, "two?")
    await served.inbox.snooze(f"question:{entry.number + 1}")
    await notifying.look(5000.0, notifier(works=True))

    assert notified == [["question: one?"], ["question: one?"]]

"""`symposium task watch` shows changes that arrive while it lists the tasks."""

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace
from tests.support.in_process_daemon import daemon_of
from tests.support.terminals import at_terminal
from tests.unit.cli.test_task_watch_board import item, task

from symposium.bus.client import BusClient, Identity
from symposium.bus.envelope import Sender
from symposium.bus.errors import BusError, BusRefusedError
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.announcements import (
    InboxChanged,
    TaskLogged,
    TaskspaceChanged,
    TaskspaceGone,
)
from symposium.bus.messages.broker import Presence, Welcome, WindowKind
from symposium.bus.messages.tasks import Inbox, ListInbox, ListTaskspaces, TaskLog, Tasks
from symposium.bus.protocol import Announcement, Role
from symposium.cli import task_watch
from symposium.cli.task_watch import TaskWatch, watch_tasks
from symposium.cli.task_watch_board import FOOTER, LEAVE, Board
from symposium.daemon.part import LocalPeer

ONE, TWO, THREE = task(1, "working"), task(2, "working"), task(3, "idle")


class ChangingEngine:
    """Announces the given changes between the answers to the task list and the inbox."""

    def __init__(self, changes: Sequence[Announcement]) -> None:
        self._changes = changes
        self._bus: LocalPeer | None = None

    def answers(self) -> HandlerTable:
        answers = HandlerTable()
        answers.on_request(ListTaskspaces, self._tasks)
        answers.on_request(ListInbox, self._inbox)
        return answers

    async def run(self, bus: LocalPeer) -> None:
        self._bus = bus
        await asyncio.Event().wait()

    def is_busy(self) -> bool:
        return False

    async def _tasks(self, message: ListTaskspaces, asked: RequestContext) -> Tasks:
        del message, asked
        return Tasks((ONE, TWO))

    async def _inbox(self, message: ListInbox, asked: RequestContext) -> Inbox:
        del message, asked
        assert self._bus is not None
        for each in self._changes:
            self._bus.announce(each)
        return Inbox(())


class Screens:
    """Captures each board: the state of each task, and the announcements."""

    def __init__(self) -> None:
        self.shown: list[tuple[dict[str, str], list[Announcement]]] = []
        self._changed = asyncio.Event()

    def show(self, board: Board, announced: Sequence[Announcement]) -> None:
        states = {each.id: each.state for each in board.tasks.values()}
        self.shown.append((states, list(announced)))
        self._changed.set()

    async def next(self) -> None:
        await self._changed.wait()
        self._changed.clear()


class FirstScreen:
    """Captures the first board."""

    def __init__(self) -> None:
        self.shown = asyncio.get_running_loop().create_future()

    def show(self, board: Board, announced: Sequence[Announcement]) -> None:
        if not self.shown.done():
            self.shown.set_result((dict(board.tasks), dict(board.items), list(announced)))


@pytest.mark.requirement("tasks.watch-no-gap")
async def test_watch_shows_each_change_that_arrives_during_the_list(tmp_path: Path) -> None:
    question = item(1, 1, "which one?")
    changes = [
        TaskspaceChanged(taskspace=replace(ONE, state="waiting: question"), cause="state"),
        TaskLogged(taskspace_uuid=TWO.id, entry=TaskLog(7, "", "info", "the end")),
        TaskspaceGone(taskspace_uuid=TWO.id, is_archived=True),
        TaskspaceChanged(taskspace=THREE, cause="made"),
        InboxChanged(added=(question,), waiting=1),
    ]
    screen = FirstScreen()
    watch = TaskWatch(screen)
    who = Identity(Role.CLI, "watch", Sender("/work"))
    async with (
        daemon_of(ChangingEngine(changes), tmp_path) as settings,
        BusClient(who, watch.answers(), settings) as bus,
        asyncio.TaskGroup() as tasks,
    ):
        watching = tasks.create_task(watch.run(bus))
        shown, items, announced = await screen.shown
        watching.cancel()

    states = {each.id: each.state for each in shown.values()}
    assert states == {ONE.id: "waiting: question", THREE.id: "idle"}
    assert list(items) == [question.id]
    assert announced == changes


class RestartedDaemon:
    """The client of a daemon that a test restarts, and the daemon's first client each time."""

    def __init__(self) -> None:
        self.boot = "first"
        self.asked: list[Any] = []
        self.problem: BusError | None = None

    async def ready(self) -> Welcome:
        return Welcome("c1", boot=self.boot)

    async def show(self, presence: Presence) -> None:
        self.asked.append(presence)

    async def request(self, message: Any) -> Any:
        self.asked.append(message)
        problem, self.problem = self.problem, None
        if problem is not None:
            raise problem
        return Inbox(()) if isinstance(message, ListInbox) else Tasks((ONE, TWO))


@pytest.mark.requirement("tasks.watch-no-gap", "tasks.watch-restart")
async def test_watch_of_a_project_shows_its_changes_and_lists_again_after_a_restart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(task_watch, "RECONNECT_LOOK", 0)
    elsewhere, item_of_one = replace(THREE, project="/elsewhere"), item(1, 1, "which one?")
    log = TaskLog(7, "", "info", "of no shown task")
    shown = [
        TaskspaceChanged(taskspace=replace(TWO, state="idle"), cause="state"),
        TaskspaceChanged(taskspace=THREE, cause="made"),
        TaskspaceChanged(taskspace=replace(ONE, project="/link-to-p"), cause="moved"),
        TaskLogged(taskspace_uuid=ONE.id, entry=log),
        InboxChanged(added=(item_of_one,), waiting=1),
    ]
    changes = [
        TaskspaceChanged(taskspace=elsewhere, cause="made"),
        TaskLogged(taskspace_uuid=elsewhere.id, entry=log),
        TaskspaceGone(taskspace_uuid=elsewhere.id, is_archived=True),
        *shown,
    ]
    screen, bus = Screens(), RestartedDaemon()
    watch = TaskWatch(screen, Path("/p/../link-to-p"))
    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(watch.run(cast("Any", bus)))
        await screen.next()
        for each in changes:
            respond = watch.answers().find(each)
            assert respond is not None
            await respond(each, cast("Any", None))
        await screen.next()
        asked = list(bus.asked)
        bus.boot, bus.problem = "second", BusRefusedError("not now", "failed")
        await screen.next()
        watching.cancel()

    states = {ONE.id: "working", TWO.id: "working"}
    changed = {ONE.id: "working", TWO.id: "idle", THREE.id: "idle"}
    assert screen.shown == [(states, []), (changed, shown), (states, [])]
    presence = Presence(kind=WindowKind.TERMINAL, pid=os.getpid())
    page = ListTaskspaces(project="/link-to-p", limit=1000, is_archived=False, is_urgent_first=True)
    assert asked == [presence, page, ListInbox()]
    assert bus.asked == [*asked, presence, page, *asked]


@pytest.mark.requirement("tasks.watch")
async def test_board_is_drawn_again_for_a_new_window_size_and_the_screen_is_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("LINES", "30")
    monkeypatch.setenv("COLUMNS", "20")
    async with daemon_of(ChangingEngine([]), tmp_path) as settings:
        monkeypatch.setenv("SYMPOSIUM_SOCKET", str(settings.daemon.socket))
        with at_terminal() as screen:
            async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
                watching = tasks.create_task(watch_tasks(None, as_json=False))
                await screen.until_part(FOOTER[:19])
                monkeypatch.setenv("COLUMNS", "40")
                os.kill(os.getpid(), signal.SIGWINCH)
                await screen.until_part(FOOTER[:39])
                watching.cancel()
            rest = screen.rest()

    assert (watching.cancelled(), rest.endswith(LEAVE)) == (True, True)

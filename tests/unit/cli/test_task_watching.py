"""`symposium task watch` shows changes that arrive while it lists the tasks."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.support.in_process_daemon import daemon_of
from tests.unit.cli.test_task_board import item, task

from symposium.bus.client import BusClient, Identity
from symposium.bus.envelope import Sender
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.announcements import (
    InboxChanged,
    TaskLogged,
    TaskspaceChanged,
    TaskspaceGone,
)
from symposium.bus.messages.tasks import Inbox, ListInbox, ListTaskspaces, TaskLog, Tasks
from symposium.bus.protocol import Announcement, Role
from symposium.cli.task_board import Board
from symposium.cli.task_watch import TaskWatch
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

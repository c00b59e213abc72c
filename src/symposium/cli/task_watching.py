"""`symposium task watch`: follow all tasks from what the daemon announces."""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

from symposium.bus.answers import Answers, Asked
from symposium.bus.client import BusClient
from symposium.bus.errors import BusError
from symposium.bus.messages.inbox_changed import InboxChanged
from symposium.bus.messages.list_inbox import ListInbox
from symposium.bus.messages.list_taskspaces import ListTaskspaces
from symposium.bus.messages.presence import Presence
from symposium.bus.messages.task_logged import TaskLogged
from symposium.bus.messages.taskspace_changed import TaskspaceChanged
from symposium.bus.messages.taskspace_gone import TaskspaceGone
from symposium.bus.shapes import WindowKind
from symposium.bus.vocabulary import Announcement
from symposium.cli.board_screen import FullScreen, JsonLines, Lines
from symposium.cli.bus_options import client_for
from symposium.cli.task_board import Board

RECONNECT_LOOK: Final = 1.0
"""Seconds between two looks at whether the daemon was restarted."""

MAX_TASKS: Final = 1000
"""Tasks that a board shows; those that need you are among them."""


class Screen(Protocol):
    """Shows a board."""

    def show(self, board: Board, announced: Sequence[Announcement]) -> None:
        """Show it, after these announcements."""
        ...


class TaskWatch:
    """Keeps a board current and shows it.

    Args:
        screen: shows the board.
        project: absolute path of a project, to show only its tasks; None for all.
    """

    def __init__(self, screen: Screen, project: Path | None = None) -> None:
        self._screen = screen
        self._project = None if project is None else str(project.resolve())
        self._projects = {self._project}
        self._board = Board()
        self._announced: list[Announcement] = []
        self._is_due = asyncio.Event()

    def answers(self) -> Answers:
        """What it listens to."""
        answers = Answers()
        answers.hear(TaskspaceChanged, self._task_changed)
        answers.hear(TaskspaceGone, self._task_gone)
        answers.hear(InboxChanged, self._inbox_changed)
        answers.hear(TaskLogged, self._task_logged)
        return answers

    async def run(self, bus: BusClient) -> None:
        """Show the board until cancelled.

        Raises:
            BusError: the daemon cannot be reached at first.
        """
        await self._start(bus, "")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow(bus))
            while True:
                await self._is_due.wait()
                self._is_due.clear()
                announced, self._announced = self._announced, []
                self._screen.show(self._board, announced)

    def redraw(self) -> None:
        """Show the board again, as after the window was resized."""
        self._is_due.set()

    async def _start(self, bus: BusClient, known: str) -> str:
        """List everything, unless the connection is the known one; its name."""
        connection = (await bus.ready()).connection
        if connection != known:
            await bus.show(Presence(kind=WindowKind.TERMINAL, pid=os.getpid()))
            page = ListTaskspaces(
                project=self._project, limit=MAX_TASKS, is_archived=False, is_urgent_first=True
            )
            tasks = (await bus.request(page)).taskspaces
            self._projects |= {each.project for each in tasks}
            self._board.start(tasks, (await bus.request(ListInbox())).items)
            self._is_due.set()
        return connection

    async def _follow(self, bus: BusClient) -> None:
        """List everything again after the daemon was restarted."""
        known = (await bus.ready()).connection
        while True:
            await asyncio.sleep(RECONNECT_LOOK)
            try:
                known = await self._start(bus, known)
            except BusError:
                # It is restarted just now: what is shown stays.
                continue

    def _take(self, message: Announcement) -> None:
        self._announced.append(message)
        self._is_due.set()

    async def _task_changed(self, message: TaskspaceChanged, asked: Asked) -> None:
        del asked
        if self._project is None or message.taskspace.project in self._projects:
            self._board.task_changed(message, datetime.now(UTC).isoformat(timespec="seconds"))
            self._take(message)

    async def _task_gone(self, message: TaskspaceGone, asked: Asked) -> None:
        del asked
        if message.taskspace_uuid in self._board.tasks:
            self._board.task_gone(message.taskspace_uuid)
            self._take(message)

    async def _inbox_changed(self, message: InboxChanged, asked: Asked) -> None:
        del asked
        self._board.inbox_changed(message)
        self._take(message)

    async def _task_logged(self, message: TaskLogged, asked: Asked) -> None:
        del asked
        if message.taskspace_uuid in self._board.tasks:
            self._take(message)


async def watch_tasks(project: Path | None, *, as_json: bool) -> int:
    """Follow all tasks until interrupted.

    Raises:
        BusError: the daemon cannot be reached.
    """
    is_full = sys.stdout.isatty() and not as_json
    screen: FullScreen | Lines | JsonLines
    screen = FullScreen() if is_full else JsonLines() if as_json else Lines()
    watch = TaskWatch(screen, project)
    if is_full:
        asyncio.get_running_loop().add_signal_handler(signal.SIGWINCH, watch.redraw)
    taken: AbstractContextManager[object] = screen
    async with client_for(None, answers=watch.answers()) as bus:
        await bus.ready()
        with taken:
            await watch.run(bus)
    return 0

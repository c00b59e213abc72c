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

from symposium.bus.client import BusClient
from symposium.bus.errors import BusError
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.announcements import (
    InboxChanged,
    TaskLogged,
    TaskspaceChanged,
    TaskspaceGone,
)
from symposium.bus.messages.broker import Presence, Welcome, WindowKind
from symposium.bus.messages.tasks import ListInbox, ListTaskspaces
from symposium.bus.protocol import Announcement
from symposium.cli.bus import client_for
from symposium.cli.task_watch_board import Board, BoardLines, FullScreen, JsonLineStream

RECONNECT_LOOK: Final = 1.0
"""Seconds between two checks for a restart of the daemon."""

MAX_TASKS: Final = 1000
"""Tasks that a board shows; those that need you are among them."""


class Screen(Protocol):
    """Output of a board."""

    def show(self, board: Board, announced: Sequence[Announcement]) -> None:
        """Show it, after these announcements."""
        ...


class TaskWatch:
    """Keep a board current and show it.

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
        # An announcement that arrives while the tasks are listed may be newer than the list.
        self._held: list[Announcement] | None = None
        self._is_due = asyncio.Event()

    def answers(self) -> HandlerTable:
        """Return the handlers for announcements."""
        answers = HandlerTable()
        answers.on_announcement(TaskspaceChanged, self._receive)
        answers.on_announcement(TaskspaceGone, self._receive)
        answers.on_announcement(InboxChanged, self._receive)
        answers.on_announcement(TaskLogged, self._receive)
        return answers

    async def run(self, bus: BusClient) -> None:
        """Show the board until canceled.

        Raises:
            BusError: the daemon cannot be reached at first.
        """
        known = await self._start(bus, None)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow(bus, known))
            while True:
                await self._is_due.wait()
                self._is_due.clear()
                announced, self._announced = self._announced, []
                self._screen.show(self._board, announced)

    def redraw(self) -> None:
        """Show the board again, as after the window was resized."""
        self._is_due.set()

    async def _start(self, bus: BusClient, known: Welcome | None) -> Welcome:
        """List everything, unless the connection is the known one; return it."""
        connection = await bus.ready()
        if connection != known:
            self._held = []
            try:
                await bus.show(Presence(kind=WindowKind.TERMINAL, pid=os.getpid()))
                page = ListTaskspaces(
                    project=self._project, limit=MAX_TASKS, is_archived=False, is_urgent_first=True
                )
                tasks = (await bus.request(page)).taskspaces
                items = (await bus.request(ListInbox())).items
                self._projects |= {each.project for each in tasks}
                self._board.start(tasks, items)
                self._is_due.set()
            finally:
                held, self._held = self._held, None
                for message in held:
                    self._apply(message)
        return connection

    async def _follow(self, bus: BusClient, known: Welcome) -> None:
        """List everything again after the daemon was restarted."""
        while True:
            await asyncio.sleep(RECONNECT_LOOK)
            try:
                known = await self._start(bus, known)
            except BusError:
                # The daemon is restarting: keep the last board.
                continue

    async def _receive(self, message: Announcement, asked: RequestContext) -> None:
        del asked
        if self._held is None:
            self._apply(message)
        else:
            self._held.append(message)

    def _apply(self, message: Announcement) -> None:
        if self._change(message):
            self._announced.append(message)
            self._is_due.set()

    def _change(self, message: Announcement) -> bool:
        """Update the board; return whether the message concerns a shown task."""
        match message:
            case TaskspaceChanged():
                if self._project is not None and message.taskspace.project not in self._projects:
                    return False
                self._board.task_changed(message, datetime.now(UTC).isoformat(timespec="seconds"))
            case TaskspaceGone():
                if message.taskspace_uuid not in self._board.tasks:
                    return False
                self._board.task_gone(message.taskspace_uuid)
            case TaskLogged():
                return message.taskspace_uuid in self._board.tasks
            case InboxChanged():
                self._board.inbox_changed(message)
            case _:
                return False
        return True


async def watch_tasks(project: Path | None, *, as_json: bool) -> int:
    """Follow all tasks until interrupted.

    Raises:
        BusError: the daemon cannot be reached.
    """
    is_full = sys.stdout.isatty() and not as_json
    screen: FullScreen | BoardLines | JsonLineStream
    screen = FullScreen() if is_full else JsonLineStream() if as_json else BoardLines()
    watch = TaskWatch(screen, project)
    if is_full:
        asyncio.get_running_loop().add_signal_handler(signal.SIGWINCH, watch.redraw)
    taken: AbstractContextManager[object] = screen
    async with client_for(None, answers=watch.answers()) as bus:
        await bus.ready()
        with taken:
            await watch.run(bus)
    return 0

"""Announce changes of tasks, log, snapshots, and the inbox, so that clients need not poll."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from localio.errors import ExplainedError
from symposium.bus.messages.announcements import (
    InboxChanged,
    SnapshotTaken,
    TaskLogged,
    TaskOutput,
    TaskspaceChanged,
    TaskspaceGone,
)
from symposium.bus.messages.tasks import InboxItem, SettledItem
from symposium.bus.protocol import Announcement
from symposium.tasks.engine import Engine
from symposium.tasks.events import (
    Acknowledged,
    Changed,
    Event,
    LineEvent,
    Passed,
    Removed,
    Said,
    SnapshotEvent,
)
from symposium.tasks.handlers.inbox import TaskInbox
from symposium.tasks.handlers.task_views import TaskViewing, log_view, snapshot_view

GAP: Final = 0.25
"""Minimum seconds between two announcements of the same task."""

INBOX_GAP: Final = 0.1
"""Minimum seconds between two checks of the inbox."""

_STAGES: Final = ("create.", "land.", "delete.", "undo.")
"""Stages that take a noticeable time."""

_log = logging.getLogger(__name__)


class Announcer(Protocol):
    """The bus interface for announcements."""

    def announce(self, message: Announcement) -> None:
        """Send it to all subscribers."""
        ...

    def has_subscribers(self, kind: type[Announcement]) -> bool:
        """Whether a connected peer subscribes to announcements of this class."""
        ...


class TaskNews:
    """Turn events of the engine and of sessions into announcements.

    Args:
        engine: the tasks.
        viewing: makes views of tasks.
        inbox: the inbox.
        clock: seconds, for the rate.
        pause: waits for some seconds.
    """

    def __init__(
        self,
        engine: Engine,
        viewing: TaskViewing,
        inbox: TaskInbox,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._engine = engine
        self._viewing = viewing
        self._inbox = inbox
        self._clock = clock
        self._pause = pause
        self._bus: Announcer | None = None
        self._due: dict[str, str] = {}
        self._is_due = asyncio.Event()
        self._sent_at: dict[str, float] = {}
        self._is_inbox_due = asyncio.Event()
        self._before: dict[str, InboxItem] = {}

    async def run(self, bus: Announcer) -> None:
        """Announce changes of tasks and of the inbox until canceled."""
        self._bus = bus
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._tasks())
            tasks.create_task(self._inbox_news())

    def handle(self, event: Event) -> None:
        """Handle an event of the engine."""
        match event:
            case Changed(taskspace):
                self.changed(taskspace.id, "changed")
            case LineEvent(entry):
                id_ = entry.taskspace
                self._announce(TaskLogged(taskspace_uuid=id_, entry=log_view(entry)))
                self.changed(id_, "logged")
            case Acknowledged(id_):
                self.changed(id_, "answered")
            case Removed(id_, is_archived):
                self._announce(TaskspaceGone(taskspace_uuid=id_, is_archived=is_archived))
                self._is_inbox_due.set()
            case Passed(id_, stage) if stage.startswith(_STAGES):
                self._announce(TaskOutput(taskspace_uuid=id_, stage=stage))
            case Said(id_, line):
                self._announce(TaskOutput(taskspace_uuid=id_, line=line))
            case SnapshotEvent(id_, snapshot):
                self._announce(SnapshotTaken(taskspace_uuid=id_, snapshot=snapshot_view(snapshot)))
            case _:
                pass

    def changed(self, id_: str, cause: str) -> None:
        """The view of a task has changed, and maybe the inbox."""
        self._due[id_] = cause
        self._is_due.set()
        self._is_inbox_due.set()

    def inbox_changed(self) -> None:
        self._is_inbox_due.set()

    def _announce(self, message: Announcement) -> None:
        if self._bus is not None and self._bus.has_subscribers(type(message)):
            self._bus.announce(message)

    async def _tasks(self) -> None:
        while True:
            await self._is_due.wait()
            now = self._clock()
            self._sent_at = {id_: at for id_, at in self._sent_at.items() if now - at < GAP}
            ready = {id_: cause for id_, cause in self._due.items() if id_ not in self._sent_at}
            if not ready:
                await self._pause(min(self._sent_at.values()) + GAP - now)
                continue
            self._due = {id_: why for id_, why in self._due.items() if id_ not in ready}
            if not self._due:
                self._is_due.clear()
            await self._send(ready)
            # From now on, not from before: reading a view may have taken a while.
            self._sent_at |= dict.fromkeys(ready, self._clock())

    async def _send(self, ready: dict[str, str]) -> None:
        if self._bus is None or not self._bus.has_subscribers(TaskspaceChanged):
            return
        try:
            found = await self._engine.queries.of_ids(ready)
            views = await self._viewing.views(list(found.values()))
        except (ExplainedError, OSError) as error:
            _log.warning("cannot announce that tasks changed: %s", error)
            return
        for each in views:
            self._bus.announce(TaskspaceChanged(taskspace=each, cause=ready[each.id]))

    async def _inbox_news(self) -> None:
        while True:
            await self._is_inbox_due.wait()
            self._is_inbox_due.clear()
            if self._bus is not None and self._bus.has_subscribers(InboxChanged):
                await self._send_inbox(self._bus)
            else:
                # A client that connects later gets the whole inbox, and knows an item by its id.
                self._before = {}
            await self._pause(INBOX_GAP)

    async def _send_inbox(self, bus: Announcer) -> None:
        try:
            items = await self._inbox.items()
        except (ExplainedError, OSError) as error:
            _log.warning("cannot announce the inbox: %s", error)
            return
        before, self._before = self._before, {item.id: item for item in items}
        added = tuple(item for item in items if before.get(item.id) != item)
        settled = tuple(self._settled(id_) for id_ in before if id_ not in self._before)
        if added or settled:
            bus.announce(InboxChanged(added=added, settled=settled, waiting=len(items)))

    def _settled(self, id_: str) -> SettledItem:
        how = self._inbox.settled(id_)
        return SettledItem(id_) if how is None else SettledItem(id_, how.by, how.at, how.answer)

"""Part of the daemon that manages the taskspaces, with one engine for all clients."""

import asyncio
import logging
import os
from contextlib import suppress
from typing import Any, Final

from symposium.bus.errors import BusRefusedError
from symposium.bus.handlers import HandlerTable, RequestContext, Respond
from symposium.bus.messages.announcements import SessionNoted
from symposium.bus.messages.broker import PresenceChanged
from symposium.bus.messages.tasks import SESSION_SERVER
from symposium.bus.messages.worktrees import TaskspaceWillDelete
from symposium.config.paths import paths
from symposium.daemon.part import LocalPeer, PartContext, PartSpec, StateOwnerFile
from symposium.permissions.trust_store import TrustStore
from symposium.registry.index import registry_context
from symposium.sessions.session import SessionStore
from symposium.tasks.engine import Engine
from symposium.tasks.engine_context import EngineContext
from symposium.tasks.events import Event, Removed, Removing
from symposium.tasks.handlers.agent_messages import AgentMessageHandlers, ChildTaskHandlers
from symposium.tasks.handlers.approvals import Budgets, SetUpTrust
from symposium.tasks.handlers.inbox import InboxSources, TaskInbox
from symposium.tasks.handlers.landing import LandingHandlers
from symposium.tasks.handlers.live_sessions import LiveSessions
from symposium.tasks.handlers.notifications import Notifying
from symposium.tasks.handlers.overlap_watch import OverlapWatcher
from symposium.tasks.handlers.snoozed import SnoozedItems
from symposium.tasks.handlers.task_agents import TaskAgents, TaskSecrets
from symposium.tasks.handlers.task_news import TaskNews
from symposium.tasks.handlers.task_views import TaskViewing
from symposium.tasks.handlers.user_messages import TaskHandlers
from symposium.tasks.handlers.worktrees import WorktreeHandlers
from symposium.tasks.records import PresenceKind, PresentAgents
from symposium.tasks.store import TaskStore

_log = logging.getLogger(__name__)

JOURNAL: Final = "taskspaces.db"

POLL_INTERVAL: Final = 1.0
"""Interval in seconds for checking whether another daemon has the tasks."""


class Taskspaces:
    """Create the engine when the daemon runs, not before.

    Args:
        context: of the daemon.
    """

    def __init__(self, context: PartContext) -> None:
        home = context.home
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Session servers look for it in the home; the daemon's socket may be elsewhere.
        self._store = SessionStore(paths())
        self._mark = StateOwnerFile(home, context.socket)
        self._live = LiveSessions(self._store)
        registry = registry_context(os.environ)
        self._agents = TaskAgents(self._store, registry, self._live, context.socket)
        self._bus: LocalPeer | None = None
        self._recovered = asyncio.Event()
        trust = SetUpTrust(TrustStore(home))
        journal = TaskStore(home / JOURNAL)
        state = home / "taskspaces"
        engine_context = EngineContext(
            journal,
            state,
            agents=self._agents,
            trust=trust,
            tell=self._tell,
            redact=TaskSecrets(self._store, self._agents.environments).redact,
        )
        self._engine = Engine(engine_context)
        self._keep_files_current = engine_context.keep_files_current
        budgets = Budgets(self._engine, self._store)
        snoozed = SnoozedItems(home / "inbox-put-off.json")
        sources = InboxSources(self._engine, self._store, trust, budgets, snoozed, self._live)
        inbox = TaskInbox(sources)
        self._overlaps = OverlapWatcher(self._engine)
        viewing = TaskViewing(self._engine, self._agents, self._live, self._overlaps, budgets)
        self._notifying = Notifying(self._engine, inbox, home, self._watchers)
        self._news = TaskNews(self._engine, viewing, inbox)
        self._resolving = inbox.resolving
        self._overlaps.on_change = self._news.changed
        self._live.on_change = self._session_changed
        self._resolving.on_change = self._news.inbox_changed
        self._engine.trash.requests.on_change = inbox.on_change = self._news.inbox_changed
        self._handlers = (
            AgentMessageHandlers(self._engine, self._agents, self._watchers, self._register_window),
            TaskHandlers(self._engine, self._agents, trust, inbox, viewing),
            budgets,
            ChildTaskHandlers(self._engine),
            WorktreeHandlers(self._engine, self._agents),
            LandingHandlers(self._engine, self._agents, self._resolving),
        )

    def answers(self) -> HandlerTable:
        """Return the handlers of all message groups."""
        answers = HandlerTable()
        for handlers in self._handlers:
            answers.extend(handlers.answers())
        for name, respond in list(answers.requests.items()):
            answers.requests[name] = self._once_recovered(respond)
        answers.on_announcement(SessionNoted, self._session_noted)
        answers.on_announcement(PresenceChanged, self._presence_changed)
        return answers

    async def _session_noted(self, message: SessionNoted, asked: RequestContext) -> None:
        del asked
        self._live.noted(message.session, message.kind.value)

    async def _presence_changed(self, message: PresenceChanged, asked: RequestContext) -> None:
        """Track the session servers of tasks; each is connected while it runs."""
        del asked
        peer = message.peer
        if peer.name != SESSION_SERVER or not peer.taskspace_uuid:
            return
        if message.change == "came":
            self._live.noted(peer.taskspace_uuid, "connected")
        elif message.change == "gone":
            await self._live.gone(peer.taskspace_uuid)

    async def run(self, bus: LocalPeer) -> None:
        """Recover the state after a crash, then serve."""
        self._bus = bus
        self._engine.presence.connect(self._windows)
        try:
            recovered = await self._engine.start()
            self._mark.put()
            for line in recovered.lines:
                _report(line)
            await self._live.find()
            self._recovered.set()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._engine.reconcile(_report))
                tasks.create_task(self._keep_files_current())
                tasks.create_task(self._live.run())
                tasks.create_task(self._news.run(bus))
                tasks.create_task(self._overlaps.run())
                tasks.create_task(self._notifying.run())
                tasks.create_task(self._resolving.run())
        finally:
            await self._engine.shielded.cancel_all()
            self._mark.remove()
            self._engine.close()

    def is_busy(self) -> bool:
        """Whether an agent waits for the user, or work must be completed."""
        is_at_work = not self._engine.shielded.is_empty or self._resolving.is_busy()
        return is_at_work or bool(self._engine.trash.requests.pending())

    def _session_changed(self, id_: str, cause: str) -> None:
        self._news.changed(id_, cause)
        self._resolving.noted(id_)

    def _once_recovered(self, respond: Respond) -> Respond:
        async def answer(message: Any, asked: RequestContext) -> Any:
            # Wait for the recovery of the last run before handling requests.
            while not self._recovered.is_set():
                self._refuse_if_elsewhere()
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_INTERVAL):
                        await self._recovered.wait()
            return await respond(message, asked)

        return answer

    def _refuse_if_elsewhere(self) -> None:
        if (other := self._mark.other()) is not None:
            pid, socket = other
            text = f"another daemon has the tasks: process {pid} at {socket}"
            hint = f"use it with SYMPOSIUM_SOCKET={socket}, or stop it: kill {pid}"
            raise BusRefusedError(f"{text}; {hint}", "refused")

    def _tell(self, event: Event) -> None:
        """Announce an event; before a removal, let editors close files of the taskspace."""
        self._news.handle(event)
        if isinstance(event, Removed):
            self._resolving.removed(event.taskspace)
        if isinstance(event, Removing) and self._bus is not None:
            id_, project = event.taskspace.id, event.taskspace.project
            self._bus.announce(TaskspaceWillDelete(taskspace_uuid=id_, project_path=project))

    def _register_window(self, connection: str, taskspace: str, title: str) -> None:
        if self._bus is not None:
            self._bus.register_window(connection, taskspace, title)

    def _windows(self) -> list[PresentAgents]:
        """The connected windows, and the taskspaces they show."""
        windows = () if self._bus is None else self._bus.windows()
        return [
            PresentAgents(
                each.connection,
                each.taskspace_uuid,
                PresenceKind(each.kind.value),
                each.window_title or "",
            )
            for each in windows
            if each.kind is not None and each.taskspace_uuid
        ]

    def _watchers(self) -> int:
        """Number of views: editors, terminal boards, browsers."""
        return 0 if self._bus is None else len(self._bus.windows())


def _report(line: str) -> None:
    _log.warning("%s", line)


spec = PartSpec("taskspaces", Taskspaces)

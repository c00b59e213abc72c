"""Task handlers of the daemon over an engine, in this process."""

from dataclasses import dataclass
from pathlib import Path

from symposium.bus.envelope import Sender
from symposium.bus.handlers import RequestContext
from symposium.config.paths import paths
from symposium.permissions.trust_store import TrustStore
from symposium.registry.index import registry_context
from symposium.sessions.session import SessionStore
from symposium.tasks.engine import Engine
from symposium.tasks.handlers.approvals import Budgets, SetUpTrust
from symposium.tasks.handlers.inbox import InboxSources, TaskInbox
from symposium.tasks.handlers.landing import LandingHandlers
from symposium.tasks.handlers.live_sessions import LiveSessions
from symposium.tasks.handlers.overlap_watch import OverlapWatcher
from symposium.tasks.handlers.snoozed import SnoozedItems
from symposium.tasks.handlers.task_agents import TaskAgents
from symposium.tasks.handlers.task_views import TaskViewing
from symposium.tasks.handlers.user_messages import TaskHandlers
from symposium.tasks.handlers.worktrees import WorktreeHandlers


@dataclass(frozen=True)
class Served:
    """Handlers for tasks.

    Attributes:
        store: the sessions of their agents.
    """

    store: SessionStore
    agents: TaskAgents
    live: LiveSessions
    inbox: TaskInbox
    viewing: TaskViewing
    handlers: TaskHandlers
    worktrees: WorktreeHandlers
    landing: LandingHandlers


def serve(
    engine: Engine,
    folder: Path,
    live: LiveSessions | None = None,
    agents_of: type[TaskAgents] = TaskAgents,
) -> Served:
    """Create the handlers for an engine, with a home in this folder."""
    environment = {"SYMPOSIUM_HOME": str(folder / "home")}
    store = SessionStore(paths(environment))
    live = live or LiveSessions(store)
    agents = agents_of(store, registry_context(environment), live, Path("/nowhere"))
    trust, budgets = SetUpTrust(TrustStore(folder)), Budgets(engine, store)
    snoozed = SnoozedItems(folder / "put-off.json")
    inbox = TaskInbox(InboxSources(engine, store, trust, budgets, snoozed, live))
    viewing = TaskViewing(engine, agents, live, OverlapWatcher(engine), budgets)
    worktrees = WorktreeHandlers(engine, agents)
    landing = LandingHandlers(engine, agents, inbox.resolving)
    handlers = TaskHandlers(engine, agents, trust, inbox, viewing)
    return Served(store, agents, live, inbox, viewing, handlers, worktrees, landing)


def asked(said: list[str] | None = None) -> RequestContext:
    """Return the context of an anonymous request, whose progress is added to `said`."""

    def tell(text: str, done: float | None, total: float | None) -> None:
        del done, total
        if said is not None:
            said.append(text)

    return RequestContext("1", Sender("/"), "c1", tell)

"""The daemon's end of tasks over an engine, in this process."""

from dataclasses import dataclass
from pathlib import Path

from symposium.agent_sessions.store import SessionStore
from symposium.bus.envelope import Sender
from symposium.bus.handlers import Asked
from symposium.config.paths import paths
from symposium.daemon.tasks.budgets import Budgets
from symposium.daemon.tasks.inbox import Inbox
from symposium.daemon.tasks.live_sessions import LiveSessions
from symposium.daemon.tasks.put_off import PutOff
from symposium.daemon.tasks.radar_watch import RadarWatch
from symposium.daemon.tasks.setup_trust import SetUpTrust
from symposium.daemon.tasks.task_agents import TaskAgents
from symposium.daemon.tasks.task_desk import TaskDesk
from symposium.daemon.tasks.task_viewing import TaskViewing
from symposium.permissions.trust_store import TrustStore
from symposium.registry.index import surroundings as registry_surroundings
from symposium.taskspaces.engine import Engine


@dataclass(frozen=True)
class Served:
    """What answers on tasks.

    Attributes:
        store: the sessions of their agents.
    """

    store: SessionStore
    live: LiveSessions
    inbox: Inbox
    viewing: TaskViewing
    desk: TaskDesk


def serve(engine: Engine, folder: Path, live: LiveSessions | None = None) -> Served:
    """Answer for an engine, with a home in this folder."""
    environment = {"SYMPOSIUM_HOME": str(folder / "home")}
    store = SessionStore(paths(environment))
    live = live or LiveSessions(store)
    agents = TaskAgents(store, registry_surroundings(environment), live, Path("/nowhere"))
    trust, budgets = SetUpTrust(TrustStore(folder)), Budgets(engine, store)
    inbox = Inbox(engine, store, trust, budgets, PutOff(folder / "put-off.json"), live)
    viewing = TaskViewing(engine, agents, live, RadarWatch(engine), budgets)
    return Served(store, live, inbox, viewing, TaskDesk(engine, agents, trust, inbox, viewing))


def asked() -> Asked:
    """A request of nobody in particular."""

    def ignore(text: str, done: float | None, total: float | None) -> None:
        del text, done, total

    return Asked("1", Sender("/"), "c1", ignore)

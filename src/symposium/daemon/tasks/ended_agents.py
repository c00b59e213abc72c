"""Agents that have ended and wait for a person: to be started again, or for a login."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from symposium.agent_sessions.session import Login
from symposium.agent_sessions.store import SessionStore
from symposium.bus.messages.tasks import InboxChoice, InboxItem
from symposium.daemon.tasks.task_agents import why_ended
from symposium.taskspaces.model import Standing, Taskspace

RETRY: Final = "retry"
SEEN: Final = InboxChoice("seen", "I have seen it")
AGAIN: Final = (InboxChoice(RETRY, "Start it again"), SEEN)

_LOGGED_IN: Final = InboxChoice(RETRY, "I have logged in: go on")


def ended_agent(taskspace: Taskspace, store: SessionStore) -> list[InboxItem]:
    """What the agent of a taskspace waits for, if it has ended; each time is another item."""
    # Its keeper may still be on its way out: what would be started again now, would not be.
    if taskspace.standing is not Standing.READY or store.is_kept(taskspace.id):
        return []
    state = store.state(taskspace.id)
    why = why_ended(state)
    if not why:
        return []
    at = datetime.fromtimestamp(store.changed_at(taskspace.id), UTC).isoformat(timespec="seconds")
    if state.login is None:
        kind, text, choices = "failed", f"its agent has ended: {why}", AGAIN
    else:
        kind, text = (
            "login",
            "\n".join([f"its agent wants a login: {state.login.said}", *state.login.lines]),
        )
        choices = (*_ways(state.login), _LOGGED_IN)
    id_ = f"{kind}:{taskspace.id}:{state.keeper}"
    return [InboxItem(id_, kind, taskspace.id, taskspace.name, at, text, choices)]


def choose_way(taskspace: str, store: SessionStore, answer: str) -> None:
    """Note the way to log in that its agent is to go when it is started next.

    Raises:
        OSError: it cannot be written.
    """
    state = store.state(taskspace)
    if state.login is not None:
        chosen = answer if answer in state.login.ways and answer != RETRY else ""
        store.write_state(taskspace, replace(state, login=replace(state.login, chosen=chosen)))


def _ways(login: Login) -> list[InboxChoice]:
    return [
        InboxChoice(id_, f"Let the agent do it: {name}")
        for id_, name in login.ways.items()
        if id_ != RETRY
    ]

"""Agents that ended and turns that finished, as items of the inbox."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from msgspec import structs

from symposium.bus.messages.tasks import InboxChoice, InboxItem
from symposium.sessions.session import Login, SessionStore
from symposium.tasks.handlers.snoozed import SnoozedItems
from symposium.tasks.handlers.task_agents import why_ended
from symposium.tasks.model import Taskspace, TaskState

RETRY: Final = "retry"
SEEN: Final = InboxChoice("seen", "I have seen it")
AGAIN: Final = (InboxChoice(RETRY, "Restart it"), SEEN)

_LOGGED_IN: Final = InboxChoice(RETRY, "I have logged in; continue")


def ended_agent(taskspace: Taskspace, store: SessionStore) -> list[InboxItem]:
    """Inbox items of an agent that exited; each exit is a separate item."""
    # The session server may still be stopping: a restart now would have no effect.
    if taskspace.standing is not TaskState.READY or store.is_kept(taskspace.id):
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
            "\n".join([f"its agent requires a login: {state.login.said}", *state.login.lines]),
        )
        choices = (*_ways(state.login), _LOGGED_IN)
    id_ = f"{kind}:{taskspace.id}:{state.server_pid}"
    return [InboxItem(id_, kind, taskspace.id, taskspace.name, at, text, choices)]


def choose_way(taskspace: str, store: SessionStore, answer: str) -> None:
    """Save the login method for the next start of the agent.

    Raises:
        OSError: it cannot be saved.
    """
    state = store.state(taskspace)
    if state.login is not None:
        chosen = answer if answer in state.login.ways and answer != RETRY else ""
        store.write_state(
            taskspace,
            structs.replace(state, login=replace(state.login, chosen=chosen)),
        )


def _ways(login: Login) -> list[InboxChoice]:
    return [
        InboxChoice(id_, f"Let the agent log in: {name}")
        for id_, name in login.ways.items()
        if id_ != RETRY
    ]


FINISHED_TURN: Final = "done"

REVIEWED: Final = InboxChoice("reviewed", "I have reviewed it")

_OPEN: Final = frozenset({TaskState.READY, TaskState.FINISHED})


class FinishedTurns:
    """Find finished turns in the records of session servers.

    A review, a landing or the end of the task settles one. A later turn that changes something is
    another.

    Args:
        store: the sessions of agents.
        answered: the reviews, stored across restarts of the daemon.
    """

    def __init__(self, store: SessionStore, answered: SnoozedItems) -> None:
        self._store = store
        self._answered = answered

    def of(self, taskspace: Taskspace) -> list[InboxItem]:
        """The finished turn of an idle agent; empty if everything was reviewed."""
        changed_at = self._store.state(taskspace.id).changed_at
        if taskspace.standing not in _OPEN or not changed_at:
            return []
        id_ = f"{FINISHED_TURN}:{taskspace.id}:{round(1000 * changed_at)}"
        if self._answered.at(_review(id_)) or changed_at <= _seconds(taskspace.landed_at):
            return []
        at = datetime.fromtimestamp(changed_at, UTC).isoformat(timespec="seconds")
        shown = f"`symposium task diff {taskspace.id[:8]}`"
        text = f"its agent is done and has changed files; {shown} shows them"
        return [InboxItem(id_, FINISHED_TURN, taskspace.id, taskspace.name, at, text, (REVIEWED,))]

    def review(self, item_id: str) -> None:
        """Save that the user has reviewed an item.

        Raises:
            OSError: it cannot be saved.
        """
        self._answered.add(_review(item_id))

    def review_all(self, taskspace: Taskspace) -> None:
        """Save that the user has reviewed the work of a task through another item.

        Raises:
            OSError: it cannot be saved.
        """
        for item in self.of(taskspace):
            self.review(item.id)


def _review(item_id: str) -> str:
    return f"reviewed {item_id}"


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp() if moment else 0.0

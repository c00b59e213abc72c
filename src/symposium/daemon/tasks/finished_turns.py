"""Turns that changed a worktree and wait for the user's review."""

from datetime import UTC, datetime
from typing import Final

from symposium.agent_sessions.store import SessionStore
from symposium.bus.messages.tasks import InboxChoice, InboxItem
from symposium.daemon.tasks.put_off import PutOff
from symposium.taskspaces.model import Standing, Taskspace

KIND: Final = "done"

REVIEWED: Final = InboxChoice("reviewed", "I have reviewed it")

_OPEN: Final = frozenset({Standing.READY, Standing.FINISHED})


class FinishedTurns:
    """Finds them by what session servers have written down.

    A review, a landing or the end of the task settles one. A later turn that changes something is
    another.

    Args:
        store: the sessions of agents.
        answered: the reviews, kept over a new daemon.
    """

    def __init__(self, store: SessionStore, answered: PutOff) -> None:
        self._store = store
        self._answered = answered

    def of(self, taskspace: Taskspace) -> list[InboxItem]:
        """The one of a taskspace whose agent does nothing now; none where all was reviewed."""
        changed_at = self._store.state(taskspace.id).changed_at
        if taskspace.standing not in _OPEN or not changed_at:
            return []
        id_ = f"{KIND}:{taskspace.id}:{round(1000 * changed_at)}"
        if self._answered.at(_review(id_)) or changed_at <= _seconds(taskspace.landed_at):
            return []
        at = datetime.fromtimestamp(changed_at, UTC).isoformat(timespec="seconds")
        shown = f"`symposium task diff {taskspace.id[:8]}`"
        text = f"its agent is done and has changed files; {shown} shows them"
        return [InboxItem(id_, KIND, taskspace.id, taskspace.name, at, text, (REVIEWED,))]

    def review(self, item_id: str) -> None:
        """Note that the user has reviewed one.

        Raises:
            OSError: it cannot be written.
        """
        self._answered.add(_review(item_id))

    def review_all(self, taskspace: Taskspace) -> None:
        """Note that the user has reviewed what a taskspace has, by another item.

        Raises:
            OSError: it cannot be written.
        """
        for item in self.of(taskspace):
            self.review(item.id)


def _review(item_id: str) -> str:
    return f"reviewed {item_id}"


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp() if moment else 0.0

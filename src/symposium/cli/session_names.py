"""How a person names a session, by its id or enough of one, and which they care for no longer."""

from pathlib import Path
from typing import Final

from symposium.agent_sessions.session import (
    OF_TASK,
    SessionNotFoundError,
    SessionSpec,
    SessionState,
    Status,
)
from symposium.agent_sessions.store import SessionStore

SHORTEST: Final = 4
"""Characters of an id that may stand for it."""

_LIVES: Final = frozenset({Status.STARTING, Status.RUNNING})

_HINT: Final = "ids are shown by `symposium session list`"


def find_session(store: SessionStore, named: str) -> str:
    """The whole id of the one session whose id begins so.

    Raises:
        SessionNotFoundError: there is none, or more than one.
    """
    found = _beginning(store, named)
    if len(found) == 1:
        return found[0]
    if found:
        several = ", ".join(found)
        raise SessionNotFoundError(f"{named!r} begins more than one id: {several}", _HINT)
    # What is no id at all is refused in the words of whoever keeps them.
    return store.spec(named).id


def whole_id(store: SessionStore, named: str) -> str:
    """The id of a session that is to end by it: nothing is guessed then (bus-mcp-taskspaces §3.9).

    Raises:
        SessionNotFoundError: there is none of exactly that id.
    """
    found = [each for each in _beginning(store, named) if each != named.lower()]
    if found:
        hint = "what ends a session takes its whole id"
        raise SessionNotFoundError(f"{named!r} is the beginning of {', '.join(found)}", hint)
    return store.spec(named).id


def is_of_deleted_task(spec: SessionSpec, state: SessionState) -> bool:
    """Whether it is that of a task whose worktree has gone; its archive may need it."""
    is_over = state.status not in _LIVES
    return is_over and spec.env.get(OF_TASK) == spec.id and not Path(spec.cwd).exists()


def ended_sessions(store: SessionStore) -> list[str]:
    """Those that have ended or were lost, and are no task's."""
    specs = [store.spec(each) for each in store.ids()]
    own = [spec.id for spec in specs if spec.env.get(OF_TASK) != spec.id]
    return [each for each in own if store.state(each).status not in _LIVES]


def _beginning(store: SessionStore, named: str) -> list[str]:
    if len(named) < SHORTEST:
        return []
    return sorted(each for each in store.ids() if each.startswith(named.lower()))

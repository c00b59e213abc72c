"""Find sessions by an id or the beginning of one, and those that can be removed."""

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
"""Minimum length of a shortened id."""

_LIVES: Final = frozenset({Status.STARTING, Status.RUNNING})

_HINT: Final = "`symposium session list` lists the ids"


def find_session(store: SessionStore, named: str) -> str:
    """Return the id of the one session whose id begins with this text.

    Raises:
        SessionNotFoundError: no session matches, or several do.
    """
    found = _beginning(store, named)
    if len(found) == 1:
        return found[0]
    if found:
        several = ", ".join(found)
        raise SessionNotFoundError(f"several sessions match {named!r}: {several}", _HINT)
    # The store raises its own error for an unknown id.
    return store.spec(named).id


def whole_id(store: SessionStore, named: str) -> str:
    """Return the id of a session to stop or remove, which must be given in full.

    See bus-mcp-taskspaces §3.9.

    Raises:
        SessionNotFoundError: no session has exactly that id.
    """
    found = [each for each in _beginning(store, named) if each != named.lower()]
    if found:
        hint = "to stop or remove a session, give its full id"
        raise SessionNotFoundError(f"{named!r} is the beginning of {', '.join(found)}", hint)
    return store.spec(named).id


def is_of_deleted_task(spec: SessionSpec, state: SessionState) -> bool:
    """Whether it belongs to a task whose worktree was deleted; the archive may need it."""
    is_over = state.status not in _LIVES
    return is_over and spec.env.get(OF_TASK) == spec.id and not Path(spec.cwd).exists()


def ended_sessions(store: SessionStore) -> list[str]:
    """List sessions that ended or were lost and belong to no task."""
    specs = [store.spec(each) for each in store.ids()]
    own = [spec.id for spec in specs if spec.env.get(OF_TASK) != spec.id]
    return [each for each in own if store.state(each).status not in _LIVES]


def _beginning(store: SessionStore, named: str) -> list[str]:
    if len(named) < SHORTEST:
        return []
    return sorted(each for each in store.ids() if each.startswith(named.lower()))

"""Processes that run without a host: the daemon, and agents of tasks and sessions."""

import os
from collections.abc import Sequence

from symposium.agent_sessions.store import SessionStore
from symposium.bus.connect import meeting_place
from symposium.config.paths import paths


def running_daemon() -> int | None:
    """Return the pid of the daemon from its lock file, without a connection."""
    lock = meeting_place().life_lock
    try:
        pid = int(lock.read_text(encoding="utf-8"))
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    return pid


def held_agents() -> Sequence[str]:
    """List the sessions whose agents run without a host."""
    store = SessionStore(paths())
    return [each for each in store.ids() if store.is_kept(each)]

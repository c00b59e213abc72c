"""Blocks of ports for taskspaces: they never overlap, also across restarts (users.md B-4)."""

import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Final

from symposium.taskspaces.failures import TaskspaceError
from symposium.taskspaces.model import Ports, Taskspace, slug_of

FIRST: Final = 20000
LAST: Final = 32000
"""Below what systems hand out by themselves."""

SPACING: Final = 10
"""Ports from one block to the next; a block has at most as many."""


def claim(
    connection: sqlite3.Connection,
    taskspace: str,
    count: int,
    is_free: Callable[[int], bool],
) -> Ports:
    """The block of a taskspace; the lowest one that is free if it has none yet.

    Raises:
        TaskspaceError: too many are wanted, or all are taken.
    """
    if not 0 < count <= SPACING:
        raise TaskspaceError(f"{count} ports are wanted", f"a taskspace has 1 to {SPACING}")
    row = connection.execute(
        "SELECT first, count FROM ports WHERE taskspace = ?", (taskspace,)
    ).fetchone()
    if row:
        return Ports(*row)
    taken = {first for (first,) in connection.execute("SELECT first FROM ports")}
    for first in range(FIRST, LAST, SPACING):
        if first not in taken and all(map(is_free, range(first, first + count))):
            connection.execute(
                "INSERT INTO ports (first, count, taskspace) VALUES (?, ?, ?)",
                (first, count, taskspace),
            )
            return Ports(first, count)
    raise TaskspaceError("all blocks of ports are taken", "delete taskspaces that are done")


def release(connection: sqlite3.Connection, taskspace: str) -> None:
    """Give a taskspace's block back."""
    connection.execute("DELETE FROM ports WHERE taskspace = ?", (taskspace,))


def is_unused(port: int) -> bool:
    """Whether nobody listens on a port of this machine."""
    with closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def variables(taskspace: Taskspace) -> dict[str, str]:
    """What an agent and the commands of a taskspace find in their environment."""
    found = {
        "SYMPOSIUM_TASKSPACE": taskspace.id,
        "SYMPOSIUM_PROJECT": taskspace.project,
        "SYMPOSIUM_WORKTREE": taskspace.worktree,
        "SYMPOSIUM_BRANCH": taskspace.branch,
        "COMPOSE_PROJECT_NAME": f"{slug_of(taskspace.name)}-{taskspace.id[:8]}",
    }
    if ports := taskspace.ports:
        found["SYMPOSIUM_PORT"] = str(ports.first)
        for offset in range(1, ports.count):
            found[f"SYMPOSIUM_PORT_{offset}"] = str(ports.first + offset)
    return found

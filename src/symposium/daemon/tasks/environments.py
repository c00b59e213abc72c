"""What the agents of taskspaces find in their environment: that of who started them.

It is held in memory only. Without one, as after the daemon was started again, it is the daemon's.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from localio.errors import ExplainedError
from localio.redaction import Redactor, secret_values
from symposium.agent_sessions.lent_environment import borrow
from symposium.agent_sessions.session import secrets_of
from symposium.agent_sessions.store import SessionStore
from symposium.taskspaces.model import Taskspace

OURS: Final = frozenset({"HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME"})
"""Say where we keep things, and so does every name that begins as below: they stay the daemon's."""

PREFIX: Final = "SYMPOSIUM_"

ELSEWHERE: Final = frozenset(
    {
        *("_", "OLDPWD", "PWD", "SHLVL"),
        *("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX"),
        *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE"),
    }
)
"""Say where a shell or a git hook is, which is not where the agent will be."""


class Environments:
    """Those that were lent, by taskspace."""

    def __init__(self) -> None:
        self._lent: dict[str, Mapping[str, str]] = {}

    async def take(self, taskspace: str, path: str | None) -> None:
        """Fetch the one for a taskspace from where it is lent, if it is.

        Raises:
            SessionError: it cannot be had.
        """
        if path is not None:
            self._lent[taskspace] = await borrow(path)

    def forget(self, taskspace: str) -> None:
        """Hold the one of a taskspace no longer."""
        self._lent.pop(taskspace, None)

    def lent(self, taskspace: str) -> Mapping[str, str]:
        """The one that was lent for a taskspace; empty for none."""
        return self._lent.get(taskspace, {})

    def of(self, taskspace: Taskspace) -> dict[str, str]:
        """What a taskspace's agent is started with; a child's is that of its parent."""
        lent = self._lent.get(taskspace.id)
        if lent is None and taskspace.parent is not None:
            lent = self._lent.get(taskspace.parent)
        if lent is not None:
            self._lent[taskspace.id] = lent
            theirs = {name: value for name, value in lent.items() if not _is_ours(name)}
            ours = {name: value for name, value in os.environ.items() if _is_ours(name)}
            lent = theirs | ours
        found = os.environ if lent is None else lent
        return {name: value for name, value in found.items() if name not in ELSEWHERE}


class TaskSecrets:
    """Takes the secrets of a task's agent out of what is written about the task.

    Args:
        store: where sessions are.
        environments: what agents are started with.
    """

    def __init__(self, store: SessionStore, environments: Environments) -> None:
        self._store = store
        self._environments = environments
        self._own = secret_values(os.environ)

    def redact(self, taskspace: str, text: str) -> str:
        """The text without the values that the agent of a taskspace must not show."""
        if not text:
            return text
        known = {*self._own, *secret_values(self._environments.lent(taskspace))}
        # A task can have no agent, or one whose files are gone.
        with suppress(ExplainedError, OSError, ValueError):
            known |= secrets_of(self._store.spec(taskspace))
        return Redactor(known).text(text)


def _is_ours(name: str) -> bool:
    return name in OURS or name.startswith(PREFIX)

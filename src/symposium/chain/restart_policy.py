"""Restarts of agents: limits, and how their sessions are opened again."""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from peerwire.jsonrpc.values import as_object


class RestartPolicy(Struct, frozen=True):
    """Limits and timeouts of a restart.

    Attributes:
        max_failures: number of failures within `window` after which restarts end: one more than
            the restarts.
        window: length of the window, in seconds.
        tell_after: seconds after a crash until the user is notified, unless recovered.
        close_timeout: seconds for the rest of the failed chain to end before a restart.
        reopen_timeout: seconds for an agent to load a session again.
        cancel_grace: seconds for a turn to end after a cancellation.
        clock: monotonic clock, in seconds.
    """

    max_failures: int
    window: float = 300.0
    tell_after: float = 0.6
    close_timeout: float = 3.5
    reopen_timeout: float = 60.0
    cancel_grace: float = 2.5
    clock: Callable[[], float] = time.monotonic


RUN_MODE_FAILURES: Final = 3
"""Failures of an agent in run mode within five minutes after which it is not restarted."""

SESSION_SERVER_FAILURES: Final = 4
"""Failures of an agent of a session server after which it is not restarted, in the same time."""

RUN_MODE: Final = RestartPolicy(max_failures=RUN_MODE_FAILURES)
"""The agent is restarted after each of two failures in five minutes, then the user decides."""

SESSION_SERVER: Final = RestartPolicy(max_failures=SESSION_SERVER_FAILURES)
"""The agent is restarted after each of three failures within five minutes (users A-4)."""


class FailureWindow:
    """The recent failures of one agent."""

    def __init__(self, policy: RestartPolicy) -> None:
        self._policy = policy
        self._failures: deque[float] = deque(maxlen=max(1, policy.max_failures))

    def __len__(self) -> int:
        since = self._policy.clock() - self._policy.window
        while self._failures and self._failures[0] <= since:
            self._failures.popleft()
        return len(self._failures)

    @property
    def is_full(self) -> bool:
        """Whether the agent is not restarted any more."""
        return len(self) >= self._policy.max_failures

    def add(self) -> None:
        self._failures.append(self._policy.clock())

    def clear(self) -> None:
        """Forget the failures, since the user wants another attempt."""
        self._failures.clear()


ResumeMethod: TypeAlias = Literal["session/resume", "session/load"]


def resume_methods(initialized: Mapping[str, Any]) -> Sequence[ResumeMethod]:
    """Requests by which an agent opens a session of an earlier process, best first.

    Resuming comes first: it replays nothing.

    Args:
        initialized: the agent's result of `initialize`.
    """
    capabilities = as_object(initialized.get("agentCapabilities"))
    resume = as_object(capabilities.get("sessionCapabilities")).get("resume")
    methods: list[ResumeMethod] = []
    if resume is not None and resume is not False:
        methods.append("session/resume")
    if capabilities.get("loadSession"):
        methods.append("session/load")
    return methods

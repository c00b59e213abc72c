"""Limits on restarting the agent of a session."""

import time
from collections.abc import Callable

from msgspec import Struct


class RestartPolicy(Struct, frozen=True):
    """Limits and timeouts of a restart.

    Attributes:
        max_failures: number of failures within `window` after which restarts end.
        window: length of the window, in seconds.
        tell_after: seconds after a crash until the user is notified, unless recovered.
        close_timeout: seconds for the rest of the failed chain to end before a restart.
        reopen_timeout: seconds for an agent to load a session again.
        cancel_grace: seconds for a turn to end after a cancellation.
        clock: monotonic clock, in seconds.
    """

    max_failures: int = 3
    window: float = 300.0
    tell_after: float = 0.6
    close_timeout: float = 3.5
    reopen_timeout: float = 60.0
    cancel_grace: float = 2.5
    clock: Callable[[], float] = time.monotonic

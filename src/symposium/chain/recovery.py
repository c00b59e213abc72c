"""Limits on restarting the agent of a session."""

import time
from collections.abc import Callable

from msgspec import Struct


class RestartPolicy(Struct, frozen=True):
    """When to give up, and how long what may take.

    Attributes:
        most: failures within `window` after which nothing is started any more.
        window: seconds.
        tell_after: seconds after a crash until the user is notified, unless recovered.
        burial: seconds that the rest of the dead chain gets to end before another is started.
        patience: seconds that an agent gets to take a session up again.
        cancel_grace: seconds that a turn gets to end once it has been cancelled.
        clock: tells the seconds.
    """

    most: int = 3
    window: float = 300.0
    tell_after: float = 0.6
    burial: float = 3.5
    patience: float = 60.0
    cancel_grace: float = 2.5
    clock: Callable[[], float] = time.monotonic

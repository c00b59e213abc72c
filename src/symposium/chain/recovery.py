"""How hard it is tried to bring a session's agent back."""

import time
from collections.abc import Callable

from msgspec import Struct


class RevivalTerms(Struct, frozen=True):
    """When to give up, and how long what may take.

    Attributes:
        most: failures within `window` after which nothing is started any more.
        window: seconds.
        tell_after: seconds after a death at which the user is told, if all is not well by then.
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

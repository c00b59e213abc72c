"""One wake-up of the event loop: what is sent in it is written at its end, not a turn later.

The turn costs two microseconds of ours and a system call, on every hop of every round trip.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Final, TypeVar

_Lines = TypeVar("_Lines")


class WakeUp:
    """What the transports of one event loop have to write once the lines just read are routed."""

    def __init__(self) -> None:
        self._is_open = False
        self._due: list[Callable[[], None]] = []

    def flush_at_end(self, flush: Callable[[], None]) -> None:
        """Call this when the lines are routed; at the loop's next turn, if none are just now."""
        if self._is_open:
            self._due.append(flush)
        else:
            asyncio.get_running_loop().call_soon(flush)

    def around(self, receive: Callable[[_Lines], None]) -> Callable[[_Lines], None]:
        """The same receiver, with what it sends written when it returns."""

        def received(lines: _Lines) -> None:
            self._is_open = True
            try:
                receive(lines)
            finally:
                self._is_open = False
                due, self._due = self._due, []
                for flush in due:
                    flush()

        return received


class _Here(threading.local):
    def __init__(self) -> None:
        self.wake_up = WakeUp()


_here: Final = _Here()


def current_wake_up() -> WakeUp:
    """The one of this thread: a thread runs one event loop at a time."""
    return _here.wake_up

"""How long mods take over messages: every request, and of what streams one in many.

A mod in this process is measured at its handlers, so a message that no mod wants costs nothing. A
mod that is a program is measured by the requests that go in and come out of it again.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Generator, Sequence
from time import perf_counter
from types import CoroutineType
from typing import Any, Final, cast

from msgspec import Struct

from symposium.conductor.component import Crossing, Handler, Interception

MOST_KEPT: Final = 256
"""Measurements of one mod that are kept, the latest."""

ONE_IN: Final = 64
"""Of so many notifications one is measured."""

MOST_INSIDE: Final = 64
"""Requests of one method inside a program that are kept in mind."""

_HALF: Final = 0.5
_MOST: Final = 0.95


class Latency(Struct, frozen=True):
    """What a mod adds, in milliseconds.

    Attributes:
        p50: half of the messages take no longer.
        p95: of a hundred messages, ninety-five take no longer.
        count: how many were measured.
    """

    p50: float
    p95: float
    count: int


class Durations:
    """The latest measurements of one mod."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=MOST_KEPT)

    def note(self, seconds: float) -> None:
        """Take one down."""
        self._seconds.append(seconds)

    def latency(self) -> Latency | None:
        """What they come to; None before there is one."""
        if not self._seconds:
            return None
        found = sorted(self._seconds)
        p50, p95 = (found[min(int(len(found) * part), len(found) - 1)] for part in (_HALF, _MOST))
        return Latency(round(p50 * 1000, 3), round(p95 * 1000, 3), len(found))


def timed(interceptions: Sequence[Interception], durations: Durations) -> list[Interception]:
    """The same, measured."""
    return [
        Interception(each.direction, each.method, _measured(each.handler, durations.note))
        for each in interceptions
    ]


def _measured(handler: Handler, note: Callable[[float], None]) -> Handler:
    passed = 0

    def measured(crossing: Crossing) -> Any:
        nonlocal passed
        if not crossing.is_request:
            passed += 1
            if passed % ONE_IN != 1:
                return handler(crossing)
        began = perf_counter()
        outcome = handler(crossing)
        if hasattr(outcome, "__await__"):
            return _Awaited(outcome, began, note)
        note(perf_counter() - began)
        return outcome

    return measured


class _Awaited:
    """What a handler takes its time over; nobody need wait for it, as with what it stands for."""

    def __init__(self, work: Any, began: float, note: Callable[[float], None]) -> None:
        self._work: Awaitable[Any] = work
        self._began = began
        self._note = note

    def __await__(self) -> Generator[Any, Any, Any]:
        try:
            return (yield from self._work.__await__())
        finally:
            self._note(perf_counter() - self._began)

    def __del__(self) -> None:
        if isinstance(self._work, CoroutineType):
            cast("CoroutineType[Any, Any, Any]", self._work).close()


class Passing:
    """The requests that are inside a mod that is a program."""

    def __init__(self) -> None:
        self.durations = Durations()
        self._inside: dict[str, deque[float]] = {}

    def entered(self, method: str) -> None:
        """A request was given to it."""
        self._inside.setdefault(method, deque(maxlen=MOST_INSIDE)).append(perf_counter())

    def left(self, method: str) -> None:
        """It has passed a request on; of those of the same name, the latest is meant."""
        waiting = self._inside.get(method)
        if waiting:
            self.durations.note(perf_counter() - waiting.pop())

"""Bus with a listener, which records announcements."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from symposium.bus.protocol import Announcement

Value = TypeVar("Value")
Received = TypeVar("Received", bound=Announcement)


class Mailbox(Generic[Value]):
    """Values in the order in which they arrived; `next` waits for one."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self._has_more = asyncio.Event()

    def add(self, value: Value) -> None:
        self.values.append(value)
        self._has_more.set()

    async def next(self) -> Value:
        """Take the oldest value."""
        while not self.values:
            self._has_more.clear()
            await self._has_more.wait()
        return self.values.pop(0)


class Listener:
    """Listener for every announcement, or for none.

    Args:
        is_listening: whether it listens at first.
        clock: seconds, for `at`.

    Attributes:
        at: when each announcement arrived, by class.
        is_listening: whether it listens now.
    """

    def __init__(self, clock: Callable[[], float], *, is_listening: bool = True) -> None:
        self.at: dict[type[Announcement], list[float]] = {}
        self.box = Mailbox[Announcement]()
        self._clock = clock
        self.is_listening = is_listening

    def announce(self, message: Announcement) -> None:
        self.at.setdefault(type(message), []).append(self._clock())
        self.box.add(message)

    def has_subscribers(self, kind: type[Announcement]) -> bool:
        del kind
        return self.is_listening

    async def next(self, kind: type[Received]) -> Received:
        """Return the next announcement of a class, and drop others before it."""
        while not isinstance(found := await self.box.next(), kind):
            pass
        return found

"""Keeps the order of one direction while a message waits for a mod; pure: starting tasks is the owner's affair.

Messages of one session never overtake each other, responses included. A message without a session (the answer to
`session/new`, say) lets nothing pass it and passes nothing. Sessions do not wait for each other.
"""

from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

Key: TypeAlias = bytes | None
"""A session; None for a message of no session."""

Go: TypeAlias = Callable[[], Coroutine[Any, Any, None] | None]
"""Carries a message as far as it goes at once; what it returns, if anything, is the rest of the way."""


class Started(Protocol):
    """A task, as far as this module needs to know one."""

    def cancel(self) -> object:
        """Ask it to stop."""
        ...

    def cancelled(self) -> bool:
        """Whether it was stopped, perhaps before its first step."""
        ...

    def add_done_callback(self, callback: Callable[[Any], None], /) -> object:
        """Call back when it has ended in any way."""
        ...


Spawn: TypeAlias = Callable[[Coroutine[Any, Any, None]], Started]
"""Starts a task in the group of whoever owns the chain."""


@dataclass(frozen=True, slots=True)
class Item:
    """One message that wants to pass.

    Attributes:
        key: its session.
        size: bytes that it holds while it waits.
        go: carries it on.
        on_start: told of the task, if carrying it on takes one.
    """

    key: Key
    size: int
    go: Go
    on_start: Callable[[Started], None]


class Lanes:
    """The messages of one direction that wait, and those that they wait for.

    Attributes:
        idle: nothing is parked and nothing waits: a message may pass without asking.
        waiting_bytes: what waits behind parked messages.
    """

    def __init__(self, spawn: Spawn, on_change: Callable[["Lanes"], None]) -> None:
        self.idle = True
        self.waiting_bytes = 0
        self._spawn = spawn
        self._on_change = on_change
        self._parked: Counter[Key] = Counter()
        self._waiting: list[Item] = []

    def enter(self, item: Item) -> None:
        """Carry a message on now, or when those before it have gone."""
        if self.idle or not (
            _blocks(item.key, self._parked)
            or any(_conflict(item.key, before.key) for before in self._waiting)
        ):
            self._start(item)
        else:
            self._waiting.append(item)
            self.waiting_bytes += item.size
            self._on_change(self)

    def park(self, item: Item, rest: Coroutine[Any, Any, None]) -> None:
        """Let the rest of a message's way take its time; what comes behind it waits."""
        self._parked[item.key] += 1
        self.idle = False
        task = self._spawn(rest)
        # A callback, not a `finally`: a task cancelled before its first step runs none.
        task.add_done_callback(lambda _: self._finished(item.key))
        item.on_start(task)

    def _start(self, item: Item) -> None:
        rest = item.go()
        if rest is not None:
            self.park(item, rest)

    def _finished(self, key: Key) -> None:
        self._parked[key] -= 1
        if not self._parked[key]:
            del self._parked[key]
        self._advance()

    def _advance(self) -> None:
        ahead: Counter[Key] = Counter()
        still: list[Item] = []
        pending, self._waiting = self._waiting, []
        for item in pending:
            if _blocks(item.key, self._parked) or _blocks(item.key, ahead):
                ahead[item.key] += 1
                still.append(item)
            else:
                self.waiting_bytes -= item.size
                self._start(item)
        self._waiting = still + self._waiting
        self.idle = not self._parked and not self._waiting
        self._on_change(self)


def _blocks(key: Key, ahead: Counter[Key]) -> bool:
    return bool(ahead) and (key is None or key in ahead or None in ahead)


def _conflict(one: Key, other: Key) -> bool:
    return one is None or other is None or one == other

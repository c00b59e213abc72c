"""Order of messages in a session while a mod works.

Each mod on a route is a *stop*. At a stop, messages of one session never overtake each other,
including responses. A message without a session (such as the answer to `session/new`) keeps its
place among all others. Sessions do not wait for each other. A message never waits for a mod that it
has already passed or that started it (docs/decisions/0010-order-per-session.md).

Of a message, this module reads only the session; it does not know mods, transports, or clocks.
"""

from collections import Counter
from collections.abc import Callable, Collection, Coroutine
from typing import Any, Final, Protocol, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from peerwire.jsonrpc.values import encode_value
from symposium.chain.messages import ChainMessage

Key: TypeAlias = bytes | None
"""A session id; None for a message without a session."""

OVERHEAD: Final = 128
"""Estimated memory of a waiting message without its body, in bytes."""


class Started(Protocol):
    """The part of a task that this module uses."""

    def cancel(self) -> object:
        """Request cancellation; the work stops at its next `await`."""
        ...

    def cancelled(self) -> bool:
        """Whether it was canceled, possibly before its first step."""
        ...

    def add_done_callback(self, callback: Callable[[Any], None], /) -> object:
        """Add a callback for its end."""
        ...


Spawn: TypeAlias = Callable[[Coroutine[Any, Any, None]], Started]
"""Starts a task in the task group of the chain's owner."""


class QueuedItem(Struct, frozen=True):
    """A message that waits at a stop.

    Attributes:
        key: its session.
        size: size of its body, in bytes.
        resume: continues from this stop.
    """

    key: Key
    size: int
    resume: Callable[[], None]


class _Stop(Struct):
    parked: Counter[Key] = field(default_factory=Counter[Key])
    waiting: list[QueuedItem] = field(default_factory=list[QueuedItem])
    keys: Counter[Key] = field(default_factory=Counter[Key])

    def blocks(self, key: Key) -> bool:
        return _blocks(key, self.parked) or _blocks(key, self.keys)


class OrderedQueues:
    """Messages of one direction that a mod holds, and those that wait behind them.

    Attributes:
        idle: whether nothing is held or waits, so that messages pass without a check.
        waiting_bytes: size of the waiting messages.
        answers_due: number of mods that wait for an answer on this route.
        is_over: whether the chain has stopped, so that mods may not start tasks.
        spawn: starts a task.
    """

    def __init__(self, spawn: Spawn, on_change: Callable[["OrderedQueues"], None]) -> None:
        self.idle = True
        self.waiting_bytes = 0
        self.answers_due = 0
        self.is_over = False
        self.spawn = spawn
        self._on_change = on_change
        self._stops: dict[int, _Stop] = {}

    def stops(self) -> list[int]:
        """Positions of mods with held or waiting messages."""
        return list(self._stops)

    def holds(self, position: int) -> bool:
        """Whether the mod at this stop holds a message."""
        stop = self._stops.get(position)
        return stop is not None and bool(stop.parked)

    def queue_if_blocked(self, position: int, item: QueuedItem) -> bool:
        """Queue a message if others of its session are before it; returns whether it was queued."""
        stop = self._stops.get(position)
        if stop is None or not stop.blocks(item.key):
            return False
        stop.waiting.append(item)
        stop.keys[item.key] += 1
        self.waiting_bytes += item.size + OVERHEAD
        self._on_change(self)
        return True

    def run_in_order(self, position: int, key: Key, rest: Coroutine[Any, Any, None]) -> Started:
        """Run the task of a mod for a message; later messages of the session wait at its stop."""
        self._stops.setdefault(position, _Stop()).parked[key] += 1
        self.idle = False
        task = self.spawn(rest)

        # A callback, not `finally`: a task canceled before its first step does not run it.
        def ended(_: Any) -> None:
            rest.close()
            self._finished(position, key)

        task.add_done_callback(ended)
        return task

    def expect(self, answers: int) -> None:
        """Add to the number of mods that wait for an answer on this route."""
        self.answers_due += answers
        self._on_change(self)

    def _finished(self, position: int, key: Key) -> None:
        stop = self._stops[position]
        _take_one(stop.parked, key)
        pending, stop.waiting = stop.waiting, []
        still: list[QueuedItem] = []
        ahead: set[Key] = set()
        for at, item in enumerate(pending):
            if not (_blocks(item.key, stop.parked) or _blocks(item.key, ahead)):
                _take_one(stop.keys, item.key)
                self.waiting_bytes -= item.size + OVERHEAD
                item.resume()
                continue
            still.append(item)
            ahead.add(item.key)
            if item.key is None or len(ahead) == len(stop.keys):
                # The rest cannot pass either; do not check it again for every message.
                still += pending[at + 1 :]
                break
        # Messages that arrived meanwhile are queued after the held ones.
        stop.waiting = still + stop.waiting
        if not stop.parked and not stop.waiting:
            del self._stops[position]
        self.idle = not self._stops
        self._on_change(self)


def _blocks(key: Key, ahead: Collection[Key]) -> bool:
    return bool(ahead) and (key is None or key in ahead or None in ahead)


def _take_one(counts: Counter[Key], key: Key) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]


class _Scope(Struct, frozen=True, gc=False, rename={"session": "sessionId"}):
    session: Raw | UnsetType = UNSET


_decode_scope: Final = msgspec.json.Decoder(_Scope).decode


def session_key(message: ChainMessage) -> Key:
    """Session of a message; None if it names none."""
    if message.body is UNSET:
        session = message.session_id
        return None if session is None else encode_value(session)
    try:
        found = _decode_scope(message.body).session
    except (ValueError, RecursionError):
        return None
    return None if found is UNSET else bytes(found)

"""The order of messages in a session while a mod works.

Each mod on the way is a *stop*. At a stop, messages of one session never overtake each other,
responses included. A message without a session (the answer to `session/new`, say) lets nothing pass
it and passes nothing. Sessions do not wait for each other, and nothing waits for a mod that it has
passed already or that it started behind (docs/decisions/0010-order-per-session.md).
"""

from collections import Counter
from collections.abc import Callable, Collection, Coroutine
from typing import Any, Final, Protocol, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from peerwire.jsonrpc.values import encode_value
from symposium.chain.messages import ChainMessage

Key: TypeAlias = bytes | None
"""A session; None for a message of no session."""

OVERHEAD: Final = 128
"""Bytes that a waiting message holds beside its body, roughly."""


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
"""Starts a task in the task group of the chain's owner."""


class QueuedItem(Struct, frozen=True):
    """One message that waits at a stop.

    Attributes:
        key: its session.
        size: bytes of its body.
        resume: carries it on from this stop.
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
    """The messages of one direction that a mod holds, and those that wait behind them.

    Attributes:
        idle: no mod holds anything and nothing waits: a message may pass without asking.
        waiting_bytes: what waits.
        answers_due: how many mods wait for an answer that comes on this way.
        is_over: the chain has stopped its tasks: no mod may begin to take its time.
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
        """The positions of the mods at which something stands."""
        return list(self._stops)

    def holds(self, position: int) -> bool:
        """Whether the mod at this stop holds a message."""
        stop = self._stops.get(position)
        return stop is not None and bool(stop.parked)

    def keeps(self, position: int, item: QueuedItem) -> bool:
        """Keep a message at this stop if others of its session are before it; whether it was."""
        stop = self._stops.get(position)
        if stop is None or not stop.blocks(item.key):
            return False
        stop.waiting.append(item)
        stop.keys[item.key] += 1
        self.waiting_bytes += item.size + OVERHEAD
        self._on_change(self)
        return True

    def run_in_order(self, position: int, key: Key, rest: Coroutine[Any, Any, None]) -> Started:
        """Let the mod at a stop take its time over a message; what comes behind it waits there."""
        self._stops.setdefault(position, _Stop()).parked[key] += 1
        self.idle = False
        task = self.spawn(rest)

        # A callback, not a `finally`: a task cancelled before its first step runs none.
        def ended(_: Any) -> None:
            rest.close()
            self._finished(position, key)

        task.add_done_callback(ended)
        return task

    def expect(self, answers: int) -> None:
        """Note that so many more (or fewer) mods wait for an answer that comes on this way."""
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
                # Nothing behind can pass: not to be asked one by one, each time one has passed.
                still += pending[at + 1 :]
                break
        # Lines that arrived meanwhile are queued after those held here.
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


def session_key(crossing: ChainMessage) -> Key:
    """The session that a message belongs to, as the lanes know it; None where it names none."""
    if crossing.body is UNSET:
        session = crossing.session_id
        return None if session is None else encode_value(session)
    try:
        found = _decode_scope(crossing.body).session
    except (ValueError, RecursionError):
        return None
    return None if found is UNSET else bytes(found)

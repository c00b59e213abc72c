"""Lets a program stand still while something is done: it and all that it has started.

A program that stands still goes on in any case: when it is told to, when its time is over, and
when we are killed, for a guard of ours outlives us until then.
"""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

HOLD: Final = 10.0
"""Seconds that a program stands still at most."""

_ROUNDS: Final = 5
"""How often we look for programs that were started while we stopped others."""

_GUARD: Final = (
    'trap "" HUP INT TERM; halted=; while IFS= read -r line; do halted=$line; done;'
    ' [ -z "$halted" ] || kill -s CONT -- $halted'
)
"""Knows at each moment who stands still; reads the end of its input when we have ended."""


class Halting:
    """For one program at a time.

    Args:
        on_late: told when a program goes on since its time is over.
    """

    def __init__(self, on_late: Callable[[], None]) -> None:
        self._on_late = on_late
        self._leader: int | None = None
        self._others: list[int] = []
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        """Start the guard."""
        self._guard = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", _GUARD),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
        return self

    async def __aexit__(self, *error: object) -> None:
        """Let go, and end the guard."""
        self.go_on()
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        await self._guard.wait()

    def halt(self, leader: int) -> None:
        """Stop a program, the leader of its group; one that stands still already stays so."""
        if self._leader is not None:
            return
        self._leader = leader
        # First the guard: nobody may stand still of whom it does not know.
        self._tell_guard()
        _send(os.killpg, leader, signal.SIGSTOP)
        for _ in range(_ROUNDS):
            found = [pid for pid in _started_by(leader) if pid not in self._others]
            if not found:
                break
            self._others += found
            self._tell_guard()
            for pid in found:
                _send(os.kill, pid, signal.SIGSTOP)
        self._timer = asyncio.get_running_loop().call_later(HOLD, self._is_late)

    def go_on(self) -> None:
        """Let it go on, if it stands still."""
        if self._leader is None:
            return
        # Who waits for another goes on after it: a shell would take it for one stopped by hand.
        for pid in reversed(self._others):
            _send(os.kill, pid, signal.SIGCONT)
        _send(os.killpg, self._leader, signal.SIGCONT)
        self._leader = None
        self._others.clear()
        self._tell_guard()
        if self._timer is not None:
            self._timer.cancel()

    def _is_late(self) -> None:
        self.go_on()
        self._on_late()

    def _tell_guard(self) -> None:
        pids = [] if self._leader is None else [-self._leader, *self._others]
        assert self._guard.stdin is not None
        self._guard.stdin.write(f"{' '.join(map(str, pids))}\n".encode())


def _send(function: Callable[[int, int], None], target: int, number: int) -> None:
    # It may have ended, or become another user's: then there is nothing of ours to stop.
    with suppress(ProcessLookupError, PermissionError):
        function(target, number)


def _started_by(leader: int) -> list[int]:
    """All that a program has started, and they, in groups of their own; none without /proc."""
    found: list[int] = []
    waiting = [leader]
    while waiting:
        children = _children(waiting.pop())
        found += [pid for pid in children if not _is_in_group(pid, leader)]
        waiting += children
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(word) for word in file.read_text().split()]
    return found


def _is_in_group(pid: int, leader: int) -> bool:
    try:
        return os.getpgid(pid) == leader
    except ProcessLookupError:
        return True

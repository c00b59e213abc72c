"""Lets a program stand still while something is done: it and all that it has started.

A program that stands still goes on in any case: when it is told to, when its time is over, and
when we are killed, for a guard of ours outlives us until then.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

HOLD: Final = 10.0
"""Seconds that a program stands still at most."""

_ROUNDS: Final = 5
"""How often we look for programs that were started while we stopped others."""

_GUARD: Final = (
    'trap "" HUP INT TERM; halted=; while IFS= read -r line; do halted=$line; done;'
    ' [ -n "$halted" ] || exit 0; for pause in 0.2 1 5 0; do'
    " kill -s CONT -- $halted 2>/dev/null; sleep $pause; done"
)
"""Knows at each moment who is stopped or can be; reads the end of its input when we have ended.

It continues them more than once: a write to a pipe that the kernel has not closed yet stops the
writer again. It exits at once when the last line it read was empty.
"""


class ProcessPauser:
    """For one program at a time.

    Args:
        on_late: told when a program goes on since its time is over.
    """

    def __init__(self, on_late: Callable[[], None]) -> None:
        self._on_late = on_late
        self._leader: int | None = None
        self._resume: Callable[[], None] | None = None
        self._others: list[int] = []
        self._watched: tuple[int, ...] = ()
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
        self._watched = ()
        self.resume()
        self._tell_guard()
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        await self._guard.wait()

    def watch(self, groups: Iterable[int]) -> None:
        """Have the guard continue these process groups, too, when we are killed."""
        watched = tuple(groups)
        if watched != self._watched:
            self._watched = watched
            self._tell_guard()

    def halt(self, leader: int, resume: Callable[[], None] | None = None) -> None:
        """Stop a program, the leader of its group; one that stands still already stays so.

        Args:
            leader: the program.
            resume: continues its group, in place of our SIGCONT.
        """
        if self._leader is not None:
            return
        self._leader = leader
        self._resume = resume
        # First the guard: nobody may stand still of whom it does not know.
        self._tell_guard()
        _send(os.killpg, leader, signal.SIGSTOP)
        for _ in range(_ROUNDS):
            found = [pid for pid in started_by(leader) if self._is_news(pid)]
            if not found:
                break
            self._others += found
            self._tell_guard()
            for pid in found:
                _send(os.kill, pid, signal.SIGSTOP)
        self._timer = asyncio.get_running_loop().call_later(HOLD, self._is_late)

    def resume(self) -> None:
        """Let it go on, if it stands still."""
        if self._leader is None:
            return
        # Who waits for another goes on after it: a shell would take it for one stopped by hand.
        for pid in reversed(self._others):
            _send(os.kill, pid, signal.SIGCONT)
        # Once, and last: a second SIGCONT could meet the stop that belongs to its next line.
        if self._resume is not None:
            self._resume()
        else:
            _send(os.killpg, self._leader, signal.SIGCONT)
        self._leader = None
        self._others.clear()
        self._tell_guard()
        if self._timer is not None:
            self._timer.cancel()

    def _is_news(self, pid: int) -> bool:
        """Whether it is to be stopped: one that was stopped by others is not ours to continue."""
        return pid not in self._others and not _is_stopped(pid)

    def _is_late(self) -> None:
        self.resume()
        self._on_late()

    def _tell_guard(self) -> None:
        groups = {*self._watched, *(() if self._leader is None else (self._leader,))}
        pids = [*(-group for group in groups), *self._others]
        assert self._guard.stdin is not None
        self._guard.stdin.write(f"{' '.join(map(str, pids))}\n".encode())


def _send(function: Callable[[int, int], None], target: int, number: int) -> None:
    # It may have ended, or become another user's: then there is nothing of ours to stop.
    with suppress(ProcessLookupError, PermissionError):
        function(target, number)


def started_by(leader: int) -> list[int]:
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


def groups_writing(leader: int, pipe: str) -> set[int]:
    """The other process groups of a program that have its output open: those can announce a tool.

    Args:
        leader: the program, leader of its group.
        pipe: its output as `/proc/PID/fd` names it.
    """
    found: set[int] = set()
    for pid in started_by(leader):
        with suppress(OSError):
            if any(str(fd.readlink()) == pipe for fd in Path(f"/proc/{pid}/fd").iterdir()):
                found.add(os.getpgid(pid))
    return found


def _is_stopped(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] in {"T", "t"}


def _is_in_group(pid: int, leader: int) -> bool:
    try:
        return os.getpgid(pid) == leader
    except ProcessLookupError:
        return True

"""Pause a program and the programs that it started.

A paused program always continues: on request, after a time limit, or when this process is killed.
A guard process, which survives this one, ensures the last.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

HOLD: Final = 10.0
"""Maximum duration of a pause in seconds."""

_ROUNDS: Final = 5
"""Number of searches for programs that were started during the pause."""

_GUARD: Final = (
    'trap "" HUP INT TERM; halted=; while IFS= read -r line; do halted=$line; done;'
    ' [ -n "$halted" ] || exit 0; for pause in 0.2 1 5 0; do'
    " kill -s CONT -- $halted 2>/dev/null; sleep $pause; done"
)
"""Shell script of the guard: remembers the paused programs, and continues them at end of input.

It continues them more than once: a write to a pipe that the kernel has not closed yet stops the
writer again. It exits at once if the last line it read was empty.
"""


class ProcessPauser:
    """Pause one program at a time.

    Args:
        on_late: called when a program continues after the time limit.
    """

    def __init__(self, on_late: Callable[[], None]) -> None:
        self._on_late = on_late
        self._leader: int | None = None
        self._resume: Callable[[], None] | None = None
        self._others: list[int] = []
        self._watched: tuple[int, ...] = ()
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        """Start the guard, a shell that resumes the processes if this one exits."""
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
        """Continue the program, and stop the guard."""
        self._watched = ()
        self.resume()
        self._update_guard()
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        await self._guard.wait()

    def watch(self, groups: Iterable[int]) -> None:
        """Let the guard also continue these process groups if this process is killed."""
        watched = tuple(groups)
        if watched != self._watched:
            self._watched = watched
            self._update_guard()

    def pause(self, leader: int, resume: Callable[[], None] | None = None) -> None:
        """Pause a program, the leader of its group; no effect if one is paused.

        Args:
            leader: the program.
            resume: continues the group; default: SIGCONT.
        """
        if self._leader is not None:
            return
        self._leader = leader
        self._resume = resume
        # Tell the guard first: it must know every paused program.
        self._update_guard()
        _send(os.killpg, leader, signal.SIGSTOP)
        for _ in range(_ROUNDS):
            found = [pid for pid in started_by(leader) if self._should_stop(pid)]
            if not found:
                break
            self._others += found
            self._update_guard()
            for pid in found:
                _send(os.kill, pid, signal.SIGSTOP)
        self._timer = asyncio.get_running_loop().call_later(HOLD, self._is_late)

    def resume(self) -> None:
        """Continue the program if it is paused."""
        if self._leader is None:
            return
        # Children first: a shell would treat a stopped child as suspended by the user.
        for pid in reversed(self._others):
            _send(os.kill, pid, signal.SIGCONT)
        # Once, and last: a second SIGCONT could cancel the stop at the next line.
        if self._resume is not None:
            self._resume()
        else:
            _send(os.killpg, self._leader, signal.SIGCONT)
        self._leader = None
        self._others.clear()
        self._update_guard()
        if self._timer is not None:
            self._timer.cancel()

    def _should_stop(self, pid: int) -> bool:
        """Whether to stop a process: skip known ones, and those that others stopped."""
        return pid not in self._others and not _is_stopped(pid)

    def _is_late(self) -> None:
        self.resume()
        self._on_late()

    def _update_guard(self) -> None:
        groups = {*self._watched, *(() if self._leader is None else (self._leader,))}
        pids = [*(-group for group in groups), *self._others]
        assert self._guard.stdin is not None
        self._guard.stdin.write(f"{' '.join(map(str, pids))}\n".encode())


def _send(function: Callable[[int, int], None], target: int, number: int) -> None:
    # It may have exited, or its id may belong to another user.
    with suppress(ProcessLookupError, PermissionError):
        function(target, number)


def started_by(leader: int) -> list[int]:
    """Descendants of a program in other process groups; empty without /proc."""
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
    """Other process groups that have a program's output open, and so can announce tool calls.

    Args:
        leader: the program, leader of its group.
        pipe: its output, as `/proc/PID/fd` names it.
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

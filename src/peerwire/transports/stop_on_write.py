"""Stop a program inside its own `write()` until the line it wrote has been checked (Linux).

The kernel sends a signal of our choice to a process group of our choice whenever data arrives in a
pipe that we read (fcntl(2): F_SETOWN, F_SETSIG, O_ASYNC). With SIGSTOP the writer does not return
from `write()`, so nothing that it announces in that line can begin before we have read it. The
reader continues the group with SIGCONT.

A line can be read before the writer, still in the kernel, has sent the signal. Such a stop comes
after the SIGCONT that belonged to it, so the group is checked again while its output is silent.
"""

import array
import asyncio
import fcntl
import os
import signal
import sys
import termios
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from peerwire.jsonrpc.transport import OversizedLine
from peerwire.transports.fd_streams import PipeSize

LEADER_CHECKS: Final = (0.004, 0.02, 0.1)
"""Seconds of silence after which the leader of the group is checked: one system call."""

GROUP_CHECKS: Final = (0.5, 2.5)
"""Seconds of silence after which all processes of the group are checked."""

_CHECKS: Final = LEADER_CHECKS + GROUP_CHECKS

Check: TypeAlias = Callable[[Sequence[bytes | OversizedLine]], bool]
"""Receives the lines that a read completed, none for part of a line; True keeps the stop."""


class StopOnWrite:
    """Has the kernel stop one program; made by `ProcessTransport.stop_on_write`.

    Args:
        fd: the end of the program's output that we read.
        group: the process group of the program, whose leader is our child.
        check: decides whether the program stays stopped until `resume`.

    Attributes:
        is_armed: whether the kernel stops the program in each write.
        was_stopped: whether the program was stopped in the write of all that is read now. False
            for what it wrote before it was armed, even if that is read afterwards.
    """

    def __init__(self, fd: int, group: int, check: Check) -> None:
        self.is_armed = False
        self.was_stopped = False
        self._fd = fd
        self._group = group
        self._check = check
        self._loop = asyncio.get_running_loop()
        self._room = PipeSize(fd)
        self._waiting = array.array("i", [0])
        self._further: dict[int, int] = {}
        self._is_held = False
        self._may_be_stopped = False
        self._is_over = False
        self._silent_since = 0.0
        self._step = len(_CHECKS)
        self._timer: asyncio.TimerHandle | None = None

    def arm(self) -> bool:
        """Stop the program in each write from now on; False where the kernel cannot do that."""
        if self.is_armed or self._is_over or sys.platform != "linux":
            return self.is_armed
        self.is_armed = _signal_writes(self._fd, self._group)
        if self.is_armed:
            # A signal cuts a write short that waits for room, and not all programs write the rest.
            self._room.widen()
            for group, fd in self._further.items():
                _signal_writes(fd, group)
            self.was_stopped = self._is_pipe_empty()
        return self.is_armed

    def disarm(self) -> None:
        """Stop the program no more; one that is held stays so until `resume`."""
        if not self.is_armed:
            return
        self.is_armed = self.was_stopped = False
        if self._is_held:
            # Its line may be read before the kernel has sent the signal, which it now never does.
            for group in (self._group, *self._further):
                _signal(os.killpg, group, signal.SIGSTOP)
        for fd in (self._fd, *self._further.values()):
            with suppress(OSError):
                fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_ASYNC)
        self._room.fit(0)
        self._continue()

    def also(self, groups: Collection[int]) -> None:
        """Stop exactly these further process groups, which can write to this pipe too.

        A description of a pipe has one owner, so a further group takes a further description.
        """
        for gone in self._further.keys() - groups:
            os.close(self._further.pop(gone))
        for group in {*groups} - {self._group, *self._further}:
            with suppress(OSError):
                flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
                self._further[group] = fd = os.open(f"/proc/self/fd/{self._fd}", flags)
                if self.is_armed:
                    _signal_writes(fd, group)

    @property
    def pipe(self) -> str:
        """The name of the pipe in `/proc/PID/fd`, by which its writers are found."""
        return f"pipe:[{os.fstat(self._fd).st_ino}]"

    def read(self, lines: Sequence[bytes | OversizedLine]) -> None:
        """Check what a read completed; continue the program once all that it wrote was checked.

        Not before: a SIGCONT would undo the stop of a write that has not been read yet. And a
        write that finds its pipe empty has room, so that no signal cuts it short.
        """
        # The check may disarm it when a part of its last write has not been read.
        self._may_be_stopped = self._may_be_stopped or self.is_armed
        was_held, self._is_held = self._is_held, True
        self._is_held = self._check(lines) or was_held
        if self._may_be_stopped and not self._is_held and self._is_pipe_empty():
            self.was_stopped = self.is_armed
            self._continue()

    def resume(self) -> None:
        """Continue a program that was held."""
        self._is_held = False
        self.was_stopped = self.is_armed and self._is_pipe_empty()
        self._continue()

    def close(self) -> None:
        """End the checks; for a program that has ended, whose number may be another's by now."""
        self._is_over, self.is_armed, self.was_stopped = True, False, False
        for fd in self._further.values():
            os.close(fd)
        self._further.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _continue(self) -> None:
        if self._is_held or self._is_over:
            return
        self._may_be_stopped = False
        self._send_continue()
        self._silent_since = self._loop.time()
        self._step = 0
        if self._timer is None:
            self._timer = self._loop.call_later(_CHECKS[0], self._check_again)

    def _send_continue(self) -> None:
        for group in (self._group, *self._further):
            _signal(os.killpg, group)

    def _check_again(self) -> None:
        self._timer = None
        if self._is_held or self._step == len(_CHECKS):
            return
        # While lines come nothing is stuck: this costs no system call in the middle of a stream.
        left = self._silent_since + _CHECKS[self._step] - self._loop.time()
        if left <= 0:
            is_thorough = _CHECKS[self._step] in GROUP_CHECKS
            self._step += 1
            self._undo_late_stop(is_thorough=is_thorough)
            if self._step == len(_CHECKS):
                return
            left = self._silent_since + _CHECKS[self._step] - self._loop.time()
        self._timer = self._loop.call_later(max(left, 0.001), self._check_again)

    def _undo_late_stop(self, *, is_thorough: bool) -> None:
        """Continue what is stopped though all that was written has been read.

        The state comes first: what a stopped program wrote before its stop is in the pipe by then.
        """
        if is_thorough:
            stopped = _stopped({self._group, *self._further})
        else:
            stopped = [self._group] if _is_leader_stopped(self._group) else []
        if not stopped or not self._is_pipe_empty():
            return
        if self._group in stopped:
            # Once: a second SIGCONT could meet the stop that belongs to the next line.
            self._send_continue()
        else:
            for pid in stopped:
                _signal(os.kill, pid)

    def _is_pipe_empty(self) -> bool:
        fcntl.ioctl(self._fd, termios.FIONREAD, self._waiting)
        return not self._waiting[0]


def _signal_writes(fd: int, group: int) -> bool:
    try:
        fcntl.fcntl(fd, fcntl.F_SETOWN, -group)
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGSTOP)
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)
    except OSError:
        return False
    return True


def _signal(
    function: Callable[[int, int], None], target: int, number: signal.Signals = signal.SIGCONT
) -> None:
    try:  # noqa: SIM105 - `suppress` takes a microsecond of each line that an agent writes
        function(target, number)
    except (ProcessLookupError, PermissionError):
        pass


def _is_leader_stopped(pid: int) -> bool:
    """Whether a child process is stopped; one that has exited is not."""
    try:
        return os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False


def _stopped(groups: set[int]) -> list[int]:
    """The stopped processes of these groups."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            # The name of a program may hold blanks and brackets: fields begin behind its last one.
            state, _, group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
            if state == "T" and int(group) in groups:
                found.append(int(entry.name))
    return found

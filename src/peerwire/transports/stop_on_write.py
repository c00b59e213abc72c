"""Stop a program inside its own `write()` until the line it wrote has been checked (Linux).

When data arrives in a pipe, the kernel can send a signal to a process group that its reader chose
(fcntl(2): F_SETOWN, F_SETSIG, O_ASYNC). The signal is SIGSTOP, so the program does not return from
`write()`: it cannot start the action that the line announces before the line is checked. The reader
then continues the group with SIGCONT.

The reader can receive a line before the kernel sends the signal. The group then stops after the
SIGCONT for that line. Therefore the group is checked again while it writes no output.
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
"""Seconds without output after which the leader of the group is checked: one system call."""

GROUP_CHECKS: Final = (0.5, 2.5)
"""Seconds without output after which all processes of the group are checked."""

_CHECKS: Final = LEADER_CHECKS + GROUP_CHECKS

Check: TypeAlias = Callable[[Sequence[bytes | OversizedLine]], bool]
"""Called with the lines that a read completed, or none; returns True to keep the stop."""


class StopOnWrite:
    """Stop one program in its writes; created by `ProcessTransport.stop_on_write`.

    Args:
        fd: read end of the pipe to which the program writes.
        group: process group of the program; its leader is a child of this process.
        check: decides whether the program stays stopped until `resume`.

    Attributes:
        is_armed: whether the kernel stops the program in each write.
        was_stopped: whether the program was stopped in the write of the data that is read now.
            False for data written before `arm`, even if it is read afterwards.
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
        """Stop the program in each write from now on; return False if that is not supported."""
        if self.is_armed or self._is_over or sys.platform != "linux":
            return self.is_armed
        self.is_armed = _signal_writes(self._fd, self._group)
        if self.is_armed:
            # A signal interrupts a write to a full pipe, and some programs lose the rest.
            self._room.widen()
            for group, fd in self._further.items():
                _signal_writes(fd, group)
            self.was_stopped = self._is_pipe_empty()
        return self.is_armed

    def disarm(self) -> None:
        """Stop the program in its writes no longer; a stopped program waits for `resume`."""
        if not self.is_armed:
            return
        self.is_armed = self.was_stopped = False
        if self._is_held:
            # Stop it here: if the kernel has not sent the signal yet, it no longer will.
            for group in (self._group, *self._further):
                _signal(os.killpg, group, signal.SIGSTOP)
        for fd in (self._fd, *self._further.values()):
            with suppress(OSError):
                fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_ASYNC)
        self._room.fit(0)
        self._continue()

    def also(self, groups: Collection[int]) -> None:
        """Replace the set of other process groups to stop, which also write to this pipe.

        An open file has one owner (F_SETOWN), so each group needs its own open file of the pipe.
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
        """Link target of the pipe in `/proc/PID/fd`, which identifies the processes that write."""
        return f"pipe:[{os.fstat(self._fd).st_ino}]"

    def read(self, lines: Sequence[bytes | OversizedLine]) -> None:
        """Check the lines of a read; continue the program if the pipe is empty.

        A SIGCONT before that would undo the stop of a write that has not been read yet. Also, a
        signal does not interrupt a write into an empty pipe.
        """
        # The check may call `disarm` while the last write is only partly read.
        self._may_be_stopped = self._may_be_stopped or self.is_armed
        was_held, self._is_held = self._is_held, True
        self._is_held = self._check(lines) or was_held
        if self._may_be_stopped and not self._is_held and self._is_pipe_empty():
            self.was_stopped = self.is_armed
            self._continue()

    def resume(self) -> None:
        """Continue a program that the check kept stopped."""
        self._is_held = False
        self.was_stopped = self.is_armed and self._is_pipe_empty()
        self._continue()

    def close(self) -> None:
        """End all checks and signals after the program's exit, when its id may be reused."""
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
        # A program that writes is not stopped, so no system call is needed during output.
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
        """Continue stopped processes if all output has been read.

        Read their state before the pipe: a stopped process wrote its output before its stop.
        """
        if is_thorough:
            stopped = _stopped({self._group, *self._further})
        else:
            stopped = [self._group] if _is_leader_stopped(self._group) else []
        if not stopped or not self._is_pipe_empty():
            return
        if self._group in stopped:
            # Send it once: a second SIGCONT could undo the stop for the next line.
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
    try:  # noqa: SIM105 - `suppress` adds a microsecond to each line of an agent
        function(target, number)
    except (ProcessLookupError, PermissionError):
        pass


def _is_leader_stopped(pid: int) -> bool:
    """Whether a child process is stopped; False after its exit."""
    try:
        return os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False


def _stopped(groups: set[int]) -> list[int]:
    """Ids of the stopped processes of these groups."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            # The program's name may contain spaces and `)`: split after the last `)`.
            state, _, group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
            if state == "T" and int(group) in groups:
                found.append(int(entry.name))
    return found

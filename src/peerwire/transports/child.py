"""A program we started: its pipes, its process group, its exit."""

import asyncio
import errno
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from msgspec import Struct

from peerwire.errors import SpawnError
from peerwire.transports.command import Command, shown

BURY_TIME: Final = 1.0
"""Seconds we wait for a killed process; only one stuck in the kernel needs any."""

_REMEDIES: Final = {
    errno.EACCES: "name a file that may be run (chmod +x makes it so), not a directory",
    errno.ENOEXEC: "it is no program of this machine, or a script without a first line #!",
    errno.E2BIG: "its arguments and environment are too long; shorten them",
    errno.EMFILE: "too many files are open; close some, or raise `ulimit -n`",
    errno.ENFILE: "too many files are open on this machine; close some",
}

_log = logging.getLogger(__name__)


class Pipes(Struct, frozen=True):
    """Our ends of a program's standard streams; whoever is given them closes them."""

    stdin: int
    stdout: int
    stderr: int


class Child:
    """A running program, leader of a session and a process group of its own."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._loop = asyncio.get_running_loop()
        self._pidfd = -1

    @property
    def pid(self) -> int:
        """Its process id, and that of its group."""
        return self._process.pid

    def watch(self, on_exit: Callable[[], None]) -> None:
        """Call `on_exit` once, on the loop, when the program has exited; until `bury` at most."""
        if sys.platform == "linux":
            with suppress(OSError):  # an old kernel, or a sandbox that does not know the call
                self._pidfd = os.pidfd_open(self.pid)
        if self._pidfd >= 0:
            self._loop.add_reader(self._pidfd, self._exited, on_exit)
        else:
            threading.Thread(target=self._wait, args=(on_exit,), daemon=True).start()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the whole group, whoever of it is left."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def bury(self) -> int | None:
        """Kill what is left of the group and reap the leader.

        Returns:
            The exit code, negative for a signal; None if even SIGKILL did not end it in time.
        """
        self._unwatch()
        # Before the leader is reaped: until then nobody else can be given the group's number.
        self.signal(signal.SIGKILL)
        try:
            return self._process.wait(BURY_TIME)
        except subprocess.TimeoutExpired:
            _log.warning("process %d is stuck in the kernel and was left behind", self.pid)
            return None

    def _exited(self, on_exit: Callable[[], None]) -> None:
        self._unwatch()
        on_exit()

    def _unwatch(self) -> None:
        if self._pidfd >= 0:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1

    def _wait(self, on_exit: Callable[[], None]) -> None:
        self._process.wait()
        with suppress(RuntimeError):  # the loop has been closed: nobody is left to be told
            self._loop.call_soon_threadsafe(on_exit)


def start(command: Command) -> tuple[Child, Pipes]:
    """Start a program with pipes of its own and our environment under the command's.

    Raises:
        SpawnError: it could not be started; the message says why and how to mend it.
    """
    fds: list[int] = []
    try:
        for _ in range(3):
            fds += os.pipe()
        # No preexec_fn: it would make a copy of our memory where a vfork is enough.
        process = subprocess.Popen(  # noqa: S603 - starting what the user named is the purpose
            command.argv,
            stdin=fds[0],
            stdout=fds[3],
            stderr=fds[5],
            env={**os.environ, **command.env},
            cwd=command.cwd,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        for fd in fds:
            os.close(fd)
        number = error.errno if isinstance(error, OSError) else None
        raise SpawnError(_explain(command, error), argv=command.argv, errno=number) from error
    for fd in (fds[0], fds[3], fds[5]):
        os.close(fd)
    return Child(process), Pipes(stdin=fds[1], stdout=fds[2], stderr=fds[4])


def _explain(command: Command, error: OSError | ValueError) -> str:
    what = f"could not start `{shown(command.argv)}`"
    if not isinstance(error, OSError):
        return f"{what}: {error}; remove NUL characters, and = from names"
    where = f" {error.filename}" if command.cwd and error.filename == command.cwd else ""
    number = errno.errorcode.get(error.errno or 0, "no errno")
    return f"{what}: {error.strerror}{where} ({number}); {_remedy(command, error)}"


def _remedy(command: Command, error: OSError) -> str:
    if command.cwd is not None and error.filename == command.cwd:
        return 'create its directory, or correct "cwd"'
    if error.errno == errno.ENOENT:
        return _find(command.argv[0])
    return _REMEDIES.get(error.errno or 0, "try it by hand in a terminal to see more")


def _find(program: str) -> str:
    if program.startswith("~") or "$" in program:
        return "no shell reads it, so ~ and $ stand for themselves; write the path in full"
    if os.sep not in program:
        return f"is {program} installed and on PATH?"
    if os.access(program, os.F_OK):
        return "the file is there, but not the interpreter its first line names; install that"
    return "correct the path, or install it there"

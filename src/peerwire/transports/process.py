"""Transport to a child process, with the end of its stderr and its exit status."""

import asyncio
import errno
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct

from peerwire.errors import SpawnError, TransportError
from peerwire.jsonrpc.transport import MAX_LINE, Listener, OversizedLine
from peerwire.transports.command import Command, shown
from peerwire.transports.fd import FdTransport
from peerwire.transports.fd_streams import LAST_READ, READ_SIZE
from peerwire.transports.stop_on_write import Check, StopOnWrite

REAP_TIMEOUT: Final = 1.0
"""Timeout in seconds for reaping a killed process, which may hang in a system call."""

_REMEDIES: Final = {
    errno.EACCES: "name a file that may be run (chmod +x makes it so), not a directory",
    errno.ENOEXEC: "it is no program of this machine, or a script without a first line #!",
    errno.E2BIG: "its arguments and environment are too long; shorten them",
    errno.EMFILE: "too many files are open; close some, or raise `ulimit -n`",
    errno.ENFILE: "too many files are open on this machine; close some",
}

_log = logging.getLogger(__name__)


class Pipes(Struct, frozen=True):
    """Parent's ends of a program's standard streams; the receiver closes them."""

    stdin: int
    stdout: int
    stderr: int


class Child:
    """Running program that leads its own session and process group."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._loop = asyncio.get_running_loop()
        self._pidfd = -1

    @property
    def pid(self) -> int:
        """Process id of the program, which is also its group's id."""
        return self._process.pid

    def watch(self, on_exit: Callable[[], None]) -> None:
        """Call `on_exit` once on the event loop when the program exits, unless `reap` is first."""
        if sys.platform == "linux":
            with suppress(OSError):  # old kernels and some sandboxes lack the system call
                self._pidfd = os.pidfd_open(self.pid)
        if self._pidfd >= 0:
            self._loop.add_reader(self._pidfd, self._exited, on_exit)
        else:
            threading.Thread(target=self._wait, args=(on_exit,), daemon=True).start()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to all processes of the group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def reap(self) -> int | None:
        """Kill the remaining processes of the group and reap the leader.

        Returns:
            The exit code, negative for a signal; None if SIGKILL did not end it in time.
        """
        self._unwatch()
        # Kill before reaping: the kernel can reuse the group id afterwards.
        self.signal(signal.SIGKILL)
        try:
            return self._process.wait(REAP_TIMEOUT)
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
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(on_exit)


def start(command: Command) -> tuple[Child, Pipes]:
    """Start a program with three pipes; `command.env` extends the environment of this process.

    Raises:
        SpawnError: it could not be started; the message gives the reason and the fix.
    """
    fds: list[int] = []
    try:
        for _ in range(3):
            fds += os.pipe()
        # No preexec_fn: it prevents vfork, so the page tables of this process would be copied.
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
    return _REMEDIES.get(error.errno or 0, "try running it directly in a terminal")


def _find(program: str) -> str:
    if program.startswith("~") or "$" in program:
        return "no shell reads it, so ~ and $ are not expanded; write the full path"
    if os.sep not in program:
        return f"is {program} installed and on PATH?"
    if os.access(program, os.F_OK):
        return "the file is there, but not the interpreter its first line names; install that"
    return "correct the path, or install it there"


TAIL: Final = 64 * 1024
"""Maximum bytes kept of the end of a program's stderr (acp-host §1.9)."""

MAX_STDERR_LINE: Final = 16 * 1024
"""Maximum reported bytes of one line; longer lines are truncated."""

OnStderr = Callable[[bytes], None]


class StderrLines:
    """Split bytes into lines; a truncated line ends with a note of its length."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._length = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the lines that `data` completes, without newlines; keeps terminal escapes."""
        first, *others = data.split(b"\n")
        self._hold(first)
        for part in others:
            yield self._complete()
            self._hold(part)

    def finish(self) -> Iterator[bytes]:
        """Yield the last line if the stream ended without a newline."""
        if self._length:
            yield self._complete()

    def _hold(self, part: bytes) -> None:
        self._length += len(part)
        self._line += part[: MAX_STDERR_LINE - len(self._line)]

    def _complete(self) -> bytes:
        line = bytes(self._line).removesuffix(b"\r")
        if self._length > MAX_STDERR_LINE:
            line += b" [cut, %d bytes in all]" % self._length
        self._line.clear()
        self._length = 0
        return line


class Stderr:
    """Read a program's stderr until it ends; owns the descriptor."""

    def __init__(self, fd: int, on_line: OnStderr | None) -> None:
        self._fd = fd
        self._on_line = on_line
        self._lines = StderrLines()
        self._tail = bytearray()
        self._loop = asyncio.get_running_loop()
        os.set_blocking(fd, False)
        self._loop.add_reader(fd, self._readable)

    @property
    def tail(self) -> bytes:
        """The last `TAIL` bytes, unchanged."""
        return bytes(self._tail[-TAIL:])

    def finish(self) -> None:
        """Read the available data and close, even if a descendant keeps stderr open."""
        left = LAST_READ
        while left > 0 and self._fd >= 0:
            left -= self._read() or left
        self._close()

    def _readable(self) -> None:
        self._read()

    def _read(self) -> int:
        try:
            data = os.read(self._fd, READ_SIZE)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            data = b""  # treat it as the end; the protocol does not depend on stderr
        if not data:
            self._close()
        self._tail += data
        if len(self._tail) > 2 * TAIL:
            del self._tail[:-TAIL]
        if self._on_line is not None:
            for line in self._lines.feed(data):
                self._on_line(line)
        return len(data)

    def _close(self) -> None:
        if self._fd < 0:
            return
        self._loop.remove_reader(self._fd)
        os.close(self._fd)
        self._fd = -1
        if self._on_line is not None:
            for line in self._lines.finish():
                self._on_line(line)


EXIT_GRACE: Final = 1.0
"""Maximum seconds between the end of a program's output and its exit, in either order."""

KILL_GRACE: Final = 2.0
"""Timeout in seconds for the exit after SIGKILL, which a system call can delay."""


class ProcessExitedError(TransportError):
    """A program exited, for any reason, or closed its input or output.

    Attributes:
        argv: the program and its arguments.
        exit_code: None if a signal ended it, or if it is still running.
        signal: name of the signal that ended it, such as `SIGKILL`.
        stderr_tail: the last 64 KiB of stderr, with terminal escapes.
    """

    def __init__(self, argv: tuple[str, ...], status: int | None, stderr_tail: bytes) -> None:
        self.argv = argv
        self.exit_code = status if status is not None and status >= 0 else None
        self.signal = _signal_name(-status) if status is not None and status < 0 else None
        self.stderr_tail = stderr_tail
        super().__init__(f"`{shown(argv)}` {self._manner()}")

    def _manner(self) -> str:
        if self.signal is not None:
            return f"was ended by {self.signal}"
        if self.exit_code is None:
            return "closed its input or output but did not exit"
        return f"exited with code {self.exit_code}"


def spawn(
    command: Command,
    *,
    limit: int = MAX_LINE,
    on_stderr: OnStderr | None = None,
    grace: float = EXIT_GRACE,
) -> "ProcessTransport":
    """Start a program; the transport always ends with a `ProcessExitedError`.

    Args:
        command: the program, its environment, and its working directory.
        limit: maximum bytes of a line of its output.
        on_stderr: called with each line of stderr, which is read in any case.
        grace: maximum seconds between the end of its output and its exit, in either order.

    Raises:
        SpawnError: it could not be started.
    """
    child, pipes = start(command)
    ending = _Ending(child, Stderr(pipes.stderr, on_stderr), command.argv, grace)
    return ProcessTransport(ending, pipes.stdout, pipes.stdin, limit=limit)


class ProcessTransport(FdTransport):
    """Lines to and from a program; created by `spawn`, ended by `stop`."""

    def __init__(self, ending: "_Ending", stdout: int, stdin: int, *, limit: int) -> None:
        super().__init__(stdout, stdin, limit=limit)
        self._ending = ending
        self._stop_on_write: StopOnWrite | None = None
        ending.watch(self.finish_reading, self.close)

    @property
    def pid(self) -> int:
        """Process id of the program, which is also its group's id."""
        return self._ending.child.pid

    def start(self, listener: Listener) -> None:
        """Start reading, on the running event loop."""
        self._ending.listener = listener
        super().start(_Relay(listener, self._ending))
        self._ending.settle()

    def stop_on_write(self, check: Check) -> StopOnWrite:
        """Prepare to stop the program in each write; `arm` the result to begin."""
        self._stop_on_write = StopOnWrite(self._read_fd, self.pid, check)
        self.reader.tell_reads(self._stop_on_write.read)
        return self._stop_on_write

    def close(self) -> None:
        """Close both descriptors immediately; called after the program's exit."""
        if self._stop_on_write is not None:
            self._stop_on_write.close()
        super().close()

    async def aclose(self, *, grace: float = 1.0) -> None:
        """Stop the program; its output until the exit is still delivered."""
        await self.stop(eof_grace=grace)

    async def stop(self, *, eof_grace: float = 1.0, term_grace: float = 2.0) -> None:
        """Stop the program and the other processes of its group; return after the exit.

        Write the backlog and close its input, wait `eof_grace` seconds, send SIGTERM, wait
        `term_grace` seconds, send SIGKILL. If the caller is canceled, send SIGKILL immediately.
        """
        ending = self._ending
        if ending.gone.is_set():
            return
        ending.is_wanted = False
        ending.settle()
        self._continue()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(eof_grace):
                    await self.flush()
                    self.close_writing()
                    await ending.gone.wait()
            self.close_writing()
            if not ending.gone.is_set():
                ending.child.signal(signal.SIGTERM)
                with suppress(TimeoutError):
                    async with asyncio.timeout(term_grace):
                        await ending.gone.wait()
        finally:
            await ending.kill()

    def _continue(self) -> None:
        """Continue the program, because a stopped program cannot exit or handle SIGTERM."""
        if self._stop_on_write is not None:
            self._stop_on_write.disarm()
            self._stop_on_write.resume()


class _Relay(Struct, frozen=True):
    """Forward all events except the end of the output, which does not imply an exit."""

    listener: Listener
    ending: "_Ending"

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        self.listener.lines_received(lines)

    def writing_paused(self) -> None:
        self.listener.writing_paused()

    def writing_resumed(self) -> None:
        self.listener.writing_resumed()

    def ended(self, error: Exception | None) -> None:
        self.ending.output_ended(error)


class _Ending:
    """Detect how a program ended, and notify the listener once, after the last line."""

    def __init__(self, child: Child, stderr: Stderr, argv: tuple[str, ...], grace: float) -> None:
        self.child = child
        self.listener: Listener | None = None
        self.exited = asyncio.Event()
        self.gone = asyncio.Event()
        self.is_wanted = True
        self._stderr = stderr
        self._argv = argv
        self._grace = grace
        self._output_over = False
        self._told = False
        self._timer: asyncio.TimerHandle | None = None

    def watch(
        self, finish_reading: Callable[[Exception | None], None], close: Callable[[], None]
    ) -> None:
        self._finish_reading = finish_reading
        self._close = close
        self.child.watch(self._exit_seen)

    def output_ended(self, error: Exception | None) -> None:
        if error is not None:
            _log.debug("a pipe of `%s` broke: %s", shown(self._argv), error)
        self._output_over = True
        self.settle()

    def settle(self) -> None:
        """End if the program has exited and its output is read; else start the grace period."""
        has_exited = self.exited.is_set()
        nobody_reads = self.listener is None and not self.is_wanted
        if has_exited and (self._output_over or nobody_reads):
            self._reap()
        elif (has_exited or self._output_over) and self.listener and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._grace, self._grace_over)

    async def kill(self) -> None:
        """Kill the program and end the transport, even if the caller is canceled."""
        if self.gone.is_set():
            return
        self.child.signal(signal.SIGKILL)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(KILL_GRACE):
                    await self.exited.wait()
        finally:
            self._finish_reading(None)
            self._reap()

    def _exit_seen(self) -> None:
        self.exited.set()
        self.settle()

    def _grace_over(self) -> None:
        if self.exited.is_set():
            # A descendant keeps the output open, but the program's own output has arrived.
            self._finish_reading(None)
            self._reap()
        else:
            self._tell(None)

    def _reap(self) -> None:
        if self.gone.is_set():
            return
        self.gone.set()
        if self._timer is not None:
            self._timer.cancel()
        status = self.child.reap()
        self._stderr.finish()
        self._close()
        self._tell(status)

    def _tell(self, status: int | None) -> None:
        if self.listener is not None and not self._told:
            self._told = True
            self.listener.ended(ProcessExitedError(self._argv, status, self._stderr.tail))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

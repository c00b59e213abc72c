"""A child process as a transport: lines over its pipes, and an end that says how it died."""

import asyncio
import logging
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct

from peerwire.errors import TransportError
from peerwire.jsonrpc.codec import MAX_LINE, Overlong
from peerwire.jsonrpc.transport import Listener
from peerwire.transports.child import Child, start
from peerwire.transports.command import Command, shown
from peerwire.transports.fd import FdTransport
from peerwire.transports.stderr import OnStderr, Stderr
from peerwire.transports.stop_on_write import Check, StopOnWrite

EXIT_GRACE: Final = 1.0
"""Seconds between the end of a program's output and its exit, whichever comes first."""

KILL_GRACE: Final = 2.0
"""Seconds that a process is given to die of SIGKILL; only one stuck in the kernel needs any."""

_log = logging.getLogger(__name__)


class ProcessExitedError(TransportError):
    """A program ended its side, as it should or not.

    Attributes:
        argv: what was started.
        exit_code: None for an end by a signal, or if it closed its output and runs on.
        signal: the name of the signal that ended it, as in `SIGKILL`.
        stderr_tail: the last 64 KiB it wrote to stderr, terminal escapes included.
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
    """Start a program; its `ended` always comes with a `ProcessExitedError`.

    Args:
        command: what to start.
        limit: bytes of the longest line it may write.
        on_stderr: told each line of its stderr, which is read in any case.
        grace: seconds between the end of its output and its exit, whichever comes first.

    Raises:
        SpawnError: it could not be started.
    """
    child, pipes = start(command)
    ending = _Ending(child, Stderr(pipes.stderr, on_stderr), command.argv, grace)
    return ProcessTransport(ending, pipes.stdout, pipes.stdin, limit=limit)


class ProcessTransport(FdTransport):
    """Lines to and from a program; made by `spawn`, and over when `stop` returns."""

    def __init__(self, ending: "_Ending", stdout: int, stdin: int, *, limit: int) -> None:
        super().__init__(stdout, stdin, limit=limit)
        self._ending = ending
        self._stop_on_write: StopOnWrite | None = None
        ending.watch(self.finish_reading, self.close)

    @property
    def pid(self) -> int:
        """The program's process id, and that of its group."""
        return self._ending.child.pid

    def start(self, listener: Listener) -> None:
        """Begin to read, on the running event loop."""
        self._ending.listener = listener
        super().start(_Relay(listener, self._ending))
        self._ending.settle()

    def stop_on_write(self, check: Check) -> StopOnWrite:
        """What has the kernel stop the program in each write, once armed."""
        self._stop_on_write = StopOnWrite(self._read_fd, self.pid, check)
        self.reader.tell_reads(self._stop_on_write.read)
        return self._stop_on_write

    def close(self) -> None:
        """Close both descriptors now, when the program has ended."""
        if self._stop_on_write is not None:
            self._stop_on_write.close()
        super().close()

    async def aclose(self, *, grace: float = 1.0) -> None:
        """Stop the program; what it writes until it has ended is still delivered."""
        await self.stop(eof_grace=grace)

    async def stop(self, *, eof_grace: float = 1.0, term_grace: float = 2.0) -> None:
        """End the program and whatever it started in its group, gently at first.

        It gets what waits for it and the end of its input, `eof_grace` seconds to leave, SIGTERM,
        `term_grace` seconds, SIGKILL. Returns when it is gone. A caller that is cancelled cuts
        this short: SIGKILL at once.
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
        """Let the program run on: one that is stopped can neither exit nor act on SIGTERM."""
        if self._stop_on_write is not None:
            self._stop_on_write.disarm()
            self._stop_on_write.resume()


class _Relay(Struct, frozen=True):
    """Passes everything on but the end of the output, which is only part of a program's end."""

    listener: Listener
    ending: "_Ending"

    def lines_received(self, lines: Sequence[bytes | Overlong]) -> None:
        self.listener.lines_received(lines)

    def writing_paused(self) -> None:
        self.listener.writing_paused()

    def writing_resumed(self) -> None:
        self.listener.writing_resumed()

    def ended(self, error: Exception | None) -> None:
        self.ending.output_ended(error)


class _Ending:
    """Finds out how a program ends, and tells the listener once, after the last line."""

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
        """See whether this is the end, or when it will be."""
        has_exited = self.exited.is_set()
        nobody_reads = self.listener is None and not self.is_wanted
        if has_exited and (self._output_over or nobody_reads):
            self._bury()
        elif (has_exited or self._output_over) and self.listener and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._grace, self._grace_over)

    async def kill(self) -> None:
        """Make sure that it is gone, soon, also while the caller is being cancelled."""
        if self.gone.is_set():
            return
        self.child.signal(signal.SIGKILL)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(KILL_GRACE):
                    await self.exited.wait()
        finally:
            self._finish_reading(None)
            self._bury()

    def _exit_seen(self) -> None:
        self.exited.set()
        self.settle()

    def _grace_over(self) -> None:
        if self.exited.is_set():
            # A descendant holds the output: what the program itself wrote is there by now.
            self._finish_reading(None)
            self._bury()
        else:
            self._tell(None)

    def _bury(self) -> None:
        if self.gone.is_set():
            return
        self.gone.set()
        if self._timer is not None:
            self._timer.cancel()
        status = self.child.bury()
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

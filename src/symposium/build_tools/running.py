"""Runs a command in a group of its own, line by line; whatever happens, nothing of it stays."""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from symposium.build_tools.outcome import Stream

GRACE: Final = 2.0
"""Seconds between the wish to end and the end."""

LINGER: Final = 0.5
"""Seconds in which what a program has left behind may still say something."""

LONGEST_LINE: Final = 1024 * 1024
"""Bytes; a longer line is taken in pieces."""

_STREAMS: Final[dict[int, Stream]] = {1: "out", 2: "err"}


@dataclass(frozen=True, slots=True)
class Command:
    """What to run; never through a shell, and without input."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]


class _Listening(asyncio.SubprocessProtocol):
    def __init__(self, take: Callable[[Stream, str], None]) -> None:
        self._take = take
        self._partial = {1: b"", 2: b""}
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        *lines, rest = (self._partial[fd] + data).split(b"\n")
        for line in lines:
            self._give(fd, line)
        if len(rest) > LONGEST_LINE:
            self._give(fd, rest)
            rest = b""
        self._partial[fd] = rest

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.closed.set()

    def finish(self) -> None:
        for fd, rest in self._partial.items():
            if rest:
                self._give(fd, rest)
        self._partial = {1: b"", 2: b""}

    def _give(self, fd: int, line: bytes) -> None:
        # What overwrites itself is shown as it is in the end.
        text = line.decode(errors="replace").rstrip("\r")
        self._take(_STREAMS[fd], text.rpartition("\r")[2])


async def run(command: Command, take: Callable[[Stream, str], None], *, seconds: float) -> int:
    """Run to the end, and give each line to `take`; the exit code, negative for a signal.

    Whoever cancels this ends the command and all that it has started in its group.

    Raises:
        TimeoutError: it took longer.
        OSError: it could not be started.
    """
    transport, listening = await asyncio.get_running_loop().subprocess_exec(
        lambda: _Listening(take),
        *command.argv,
        cwd=command.cwd,
        env=dict(command.env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    pid = transport.get_pid()
    try:
        async with asyncio.timeout(seconds):
            await listening.exited.wait()
        await _wait(listening.closed, LINGER)
    finally:
        try:
            await _end(pid, listening)
        finally:
            # Whoever is cancelled a second time waits for nothing any more.
            _signal(pid, signal.SIGKILL)
            transport.close()
            listening.finish()
    code = transport.get_returncode()
    return -signal.SIGKILL if code is None else code


async def _end(pid: int, listening: _Listening) -> None:
    """End what is left of the group: it is asked first, if its leader still runs."""
    if not listening.exited.is_set():
        _signal(pid, signal.SIGTERM)
        await _wait(listening.exited, GRACE)
    _signal(pid, signal.SIGKILL)
    await _wait(listening.exited, GRACE)
    await _wait(listening.closed, LINGER)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)

"""Run a build tool: command, complete log, and summary."""

import asyncio
import os
import shlex
import signal
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from localio.processes import look_up, usual_path
from symposium.code.build_output import BuildOutcome, BuildReading, Stream, Tail, plain
from symposium.code.build_project import BuildError
from symposium.config.paths import paths

HALF: Final = 4 * 1024 * 1024
"""Bytes stored of the beginning, and of the end."""

MAX_LOG_FILES: Final = 30
"""Maximum number of logs; older ones are removed."""


class LogFile:
    """Log file of a run; omits the middle of long output.

    Args:
        directory: directory of the logs; created if missing.
        name: prefix of its file name.
        half: bytes stored of the beginning, and of the end.
    """

    def __init__(self, directory: Path, name: str, *, half: int = HALF) -> None:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        _remove_old(directory)
        handle, path = tempfile.mkstemp(suffix=".log", prefix=f"{name}-", dir=directory)
        self.path = Path(path)
        self._file = os.fdopen(handle, "wb")
        self._half = half
        self._room = half
        self._end: deque[bytes] = deque()
        self._held = 0
        self._lost = 0

    def write(self, line: str) -> None:
        written = f"{line}\n".encode(errors="replace")[: self._half]
        if not self._held and len(written) <= self._room:
            self._room -= len(written)
            self._file.write(written)
            return
        self._end.append(written)
        self._held += len(written)
        while self._held > self._half:
            gone = len(self._end.popleft())
            self._held -= gone
            self._lost += gone

    def close(self) -> None:
        """Write the buffered end."""
        with self._file as file:
            if self._lost:
                file.write(f"[… {self._lost} bytes omitted …]\n".encode())
            file.writelines(self._end)
        self._end.clear()


def _remove_old(directory: Path) -> None:
    logs = sorted(directory.glob("*.log"), key=_age)
    for each in logs[: max(0, len(logs) - MAX_LOG_FILES + 1)]:
        with suppress(OSError):
            each.unlink()


def _age(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


GRACE: Final = 2.0
"""Seconds between SIGTERM and SIGKILL."""

LINGER: Final = 0.5
"""Seconds to read output of remaining child processes."""

MAX_LINE: Final = 1024 * 1024
"""Maximum length of a line, in bytes; longer ones are split."""

_STREAMS: Final[dict[int, Stream]] = {1: "out", 2: "err"}


@dataclass(frozen=True, slots=True)
class BuildCommand:
    """A command that runs without a shell and without input."""

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
        if len(rest) > MAX_LINE:
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
        # Output that overwrites itself is reported in its final state.
        text = line.decode(errors="replace").rstrip("\r")
        self._take(_STREAMS[fd], text.rpartition("\r")[2])


async def run(command: BuildCommand, take: Callable[[Stream, str], None], *, seconds: float) -> int:
    """Run a command and pass each line to `take`; returns the exit code, negative for a signal.

    Cancellation kills the command and its process group.

    Raises:
        TimeoutError: the time limit was exceeded.
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
            # On a second cancellation, kill without waiting.
            _signal(pid, signal.SIGKILL)
            transport.close()
            listening.finish()
    code = transport.get_returncode()
    return -signal.SIGKILL if code is None else code


async def _end(pid: int, listening: _Listening) -> None:
    """Kill the process group; send SIGTERM first if its leader is still running."""
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


FOLDER: Final = "build-logs"
"""Name in the user's cache directory."""

TELL_EVERY: Final = 1.0
"""Seconds between two progress reports."""


OnProgress: TypeAlias = Callable[[float, str], None]
"""Takes the number of lines so far, and the newest one."""


@dataclass(frozen=True, slots=True)
class Run:
    """A tool to run.

    Attributes:
        argv: program by name or path, and arguments.
        cwd: working directory.
        seconds: time limit.
        reading: parser for its output.
    """

    argv: Sequence[str]
    cwd: Path
    seconds: float
    reading: BuildReading


async def run_summarized(
    wanted: Run, on_progress: OnProgress, *, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Run a tool and return the summary.

    Raises:
        BuildError: it does not exist or could not be started.
    """
    env = os.environ if environment is None else environment
    command = _command(wanted, env)
    log = LogFile(paths(env).cache / FOLDER, Path(wanted.argv[0]).name)
    output = _RunOutput(wanted.reading, log, on_progress)
    begun = time.monotonic()
    code: int | None = None
    try:
        code = await run(command, output.take, seconds=wanted.seconds)
    except TimeoutError:
        pass
    except OSError as error:
        raise BuildError(f"{wanted.argv[0]} did not start: {error.strerror}", "") from error
    finally:
        log.close()
    first = wanted.reading.problems.first()
    outcome = BuildOutcome(
        command=shlex.join(wanted.argv),
        status="timed out" if code is None else "ok" if code == 0 else "failed",
        exit_code=code,
        seconds=round(time.monotonic() - begun, 2),
        problems=first,
        more_problems=wanted.reading.problems.count - len(first),
        tests=wanted.reading.tests,
        tail=output.tail.text(),
        log=str(log.path),
    )
    return msgspec.to_builtins(outcome)


class _RunOutput:
    """Processes the output of a run: last lines, log, and progress."""

    def __init__(self, reading: BuildReading, log: LogFile, on_progress: OnProgress) -> None:
        self.tail = Tail()
        self._reading = reading
        self._log = log
        self._on_progress = on_progress
        self._count = 0
        self._told = time.monotonic()

    def take(self, stream: Stream, text: str) -> None:
        shown = self._reading.line(stream, text)
        if shown is None:
            return
        for line in map(plain, shown.split("\n")):
            self._count += 1
            self._log.write(line)
            self.tail.add(line)
        now = time.monotonic()
        if now - self._told >= TELL_EVERY:
            self._told = now
            self._on_progress(self._count, plain(shown).strip()[:200])


def _command(wanted: Run, env: Mapping[str, str]) -> BuildCommand:
    search_path = usual_path(env)
    name, *arguments = wanted.argv
    program = look_up(name, search_path.split(os.pathsep))
    if program is None:
        raise BuildError(f"{name} is not installed or not on PATH", f"install {name}")
    more = {"PATH": search_path, "NO_COLOR": "1", "CARGO_TERM_COLOR": "never", "TERM": "dumb"}
    return BuildCommand((str(program), *arguments), wanted.cwd, {**env, **more})

"""One run of a tool, from the command to what an agent is told of it."""

import os
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from localio.processes import look_up, usual_path
from symposium.build_tools.log_file import LogFile
from symposium.build_tools.outcome import Outcome, Reading, Stream, Tail, plain
from symposium.build_tools.project import BuildError
from symposium.build_tools.running import Command, run
from symposium.config.paths import paths

FOLDER: Final = "build-logs"
"""Of the user's cache."""

TELL_EVERY: Final = 1.0
"""Seconds between two notes of how far it is."""


class Listener(Protocol):
    """Who wants to know how far a run is."""

    def progress(self, done: float, message: str) -> None:
        """Learn it."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """A tool to run.

    Attributes:
        argv: its program, by name or path, and arguments.
        cwd: where.
        seconds: how long it may take.
        reading: what understands it.
    """

    argv: Sequence[str]
    cwd: Path
    seconds: float
    reading: Reading


async def condensed(
    wanted: Run, listener: Listener, *, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Run a tool, and tell what came of it.

    Raises:
        BuildError: it is not there, or could not be started.
    """
    env = os.environ if environment is None else environment
    command = _command(wanted, env)
    log = LogFile(paths(env).cache / FOLDER, Path(wanted.argv[0]).name)
    ear = _Ear(wanted.reading, log, listener)
    begun = time.monotonic()
    code: int | None = None
    try:
        code = await run(command, ear.take, seconds=wanted.seconds)
    except TimeoutError:
        pass
    except OSError as error:
        raise BuildError(f"{wanted.argv[0]} did not start: {error.strerror}", "") from error
    finally:
        log.close()
    first = wanted.reading.problems.first()
    outcome = Outcome(
        command=shlex.join(wanted.argv),
        status="timed out" if code is None else "ok" if code == 0 else "failed",
        exit_code=code,
        seconds=round(time.monotonic() - begun, 2),
        problems=first,
        more_problems=wanted.reading.problems.count - len(first),
        tests=wanted.reading.tests,
        tail=ear.tail.text(),
        log=str(log.path),
    )
    return msgspec.to_builtins(outcome)


class _Ear:
    """Hears a run: keeps its last lines, logs it, and tells how far it is."""

    def __init__(self, reading: Reading, log: LogFile, listener: Listener) -> None:
        self.tail = Tail()
        self._reading = reading
        self._log = log
        self._listener = listener
        self._count = 0
        self._told = time.monotonic()

    def take(self, stream: Stream, text: str) -> None:
        """Take a line."""
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
            self._listener.progress(self._count, plain(shown).strip()[:200])


def _command(wanted: Run, env: Mapping[str, str]) -> Command:
    search_path = usual_path(env)
    name, *arguments = wanted.argv
    program = look_up(name, search_path.split(os.pathsep))
    if program is None:
        raise BuildError(f"{name} is not installed: it is not on PATH", f"install {name}")
    more = {"PATH": search_path, "NO_COLOR": "1", "CARGO_TERM_COLOR": "never", "TERM": "dumb"}
    return Command((str(program), *arguments), wanted.cwd, {**env, **more})

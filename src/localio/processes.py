"""Find programs, and run them in their own process group, with limits.

A login shell runs the user's start-up files. It gets no terminal, no input, and four seconds, and
only the output between two markers is read (users A-9).
"""

import asyncio
import os
import secrets
import signal
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from localio.errors import LocalIOError, ProgramNotFoundError
from localio.files import trusted_places
from localio.text import plain_text
from peerwire.transports.command import Command

MAX_OUTPUT_BYTES: Final = 16 * 1024 * 1024
"""Maximum output in bytes; a program that writes more is killed."""

KILL_TIMEOUT: Final = 2.0
"""Seconds to wait for the exit of a killed program."""


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """A program to run; `stderr` is as in `subprocess`."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path | None = None
    stderr: int = asyncio.subprocess.DEVNULL


@dataclass(frozen=True, slots=True)
class CollectedOutput:
    """Output and exit code of a program; the code is missing if it was killed."""

    said: bytes
    code: int | None


class _Collector(asyncio.SubprocessProtocol):
    def __init__(self, is_enough: Callable[[bytes], bool]) -> None:
        self._is_enough = is_enough
        self.said = b""
        self.done = asyncio.Event()
        self.exited = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        del fd
        self.said += data
        if len(self.said) > MAX_OUTPUT_BYTES or self._is_enough(self.said):
            self.done.set()

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        # The program has exited, and all its output was received.
        del exc
        self.done.set()


async def run_collecting(
    spec: ProcessSpec, *, seconds: float, is_enough: Callable[[bytes], bool] = lambda _: False
) -> CollectedOutput:
    """Run a program until it exits or wrote enough, then kill its process group.

    Raises:
        TimeoutError: it did not exit in time.
        OSError: it could not be started.
    """
    transport, collector = await asyncio.get_running_loop().subprocess_exec(
        lambda: _Collector(is_enough),
        *spec.argv,
        cwd=spec.cwd,
        env=dict(spec.env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=spec.stderr,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            await collector.done.wait()
        code = transport.get_returncode()
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(transport.get_pid(), signal.SIGKILL)
        try:
            with suppress(TimeoutError):  # exceeded only by a process stuck in the kernel
                async with asyncio.timeout(KILL_TIMEOUT):
                    await collector.exited.wait()
        finally:
            # Close last: closing reaps the process, so the waiter would miss the exit code.
            transport.close()
    return CollectedOutput(collector.said, code)


PROBE_TIME: Final = 4.0
"""Timeout of the login shell in seconds."""

NOWHERE: Final = Path("/")
"""Working directory outside any workspace, for `--version` and the login shell."""

_MAX_OUTPUT_BYTES: Final = 1024 * 1024
_SHOWN_PLACES: Final = 12
_AT_HOME: Final = (
    ".local/bin",
    ".cargo/bin",
    ".bun/bin",
    ".deno/bin",
    ".volta/bin",
    ".asdf/shims",
    ".local/share/mise/shims",
    ".pyenv/shims",
    ".npm-global/bin",
    ".local/share/pnpm",
    "Library/pnpm",
)
_ANYWHERE: Final = (
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/snap/bin",
)
_VERSIONED: Final = (
    ".nvm/versions/node/*/bin",
    ".local/share/fnm/node-versions/*/installation/bin",
)


@dataclass(frozen=True, slots=True)
class FoundProgram:
    """A program, and the PATH with which it finds its own tools."""

    program: Path
    search_path: str


def known_places(home: Path) -> list[Path]:
    """Existing usual directories of programs; newer versions of Node.js come first."""
    places = [home / each for each in _AT_HOME]
    for pattern in _VERSIONED:
        places += sorted(home.glob(pattern), key=_version, reverse=True)
    return [each for each in (*places, *map(Path, _ANYWHERE)) if each.is_dir()]


def look_up(name: str, directories: Sequence[str]) -> Path | None:
    """Find the first program with this name; a name with a slash is a path.

    Relative directories are ignored: they could lead into a workspace.
    """
    places = [f"{each}/{name}" for each in directories if os.path.isabs(each)]  # noqa: PTH117 - text
    candidates = [name] if "/" in name else places
    for candidate in candidates:
        path = Path(candidate)
        if path.is_file() and os.access(path, os.X_OK):
            return path.absolute()
    return None


def usual_path(env: Mapping[str, str]) -> str:
    """PATH without directories of the open workspace, followed by the usual directories."""
    home = Path(env.get("HOME") or Path.home())
    places = [*trusted_places(_own(env)), *map(str, known_places(home))]
    return os.pathsep.join(dict.fromkeys(places))


async def find_program(name: str, env: Mapping[str, str]) -> FoundProgram:
    """Search PATH, the usual directories, and then the login shell's PATH.

    Raises:
        ProgramNotFoundError: it was not found; names the searched places and a fix.
    """
    searched = usual_path(env)
    if (program := look_up(name, searched.split(os.pathsep))) is not None:
        return FoundProgram(program, searched)
    if "/" not in name:
        of_shell = await login_shell_path(env)
        searched = os.pathsep.join(dict.fromkeys([*searched.split(os.pathsep), *of_shell]))
        if (program := look_up(name, of_shell)) is not None:
            return FoundProgram(program, searched)
    if "/" in name:
        raise ProgramNotFoundError(
            f"there is no program at {name}", "correct the path, or install it there"
        )
    directories = searched.split(os.pathsep)
    more = (
        f" and {len(directories) - _SHOWN_PLACES} more" if len(directories) > _SHOWN_PLACES else ""
    )
    ignored = set(_own(env).split(os.pathsep)) - set(directories)
    if ignored:
        more += "; relative directories of PATH, and those in this workspace, were ignored"
    raise ProgramNotFoundError(
        f"no program {name!r} was found in {', '.join(directories[:_SHOWN_PLACES])}{more}",
        f"install {name}, or write its full path: `command -v {name}` in a terminal shows it",
    )


async def reachable(command: Command, env: Mapping[str, str]) -> Command:
    """Make a command independent of the working directory; set PATH only if needed.

    Raises:
        ProgramNotFoundError: its program was not found.
    """
    found = await find_program(command.argv[0], env)
    # For a missing interpreter, the system reports an error when the program starts.
    interpreter = _interpreter(found.program)
    search_path: str | None = None
    if not _leads_to(command.argv[0], env):
        search_path = found.search_path
    if interpreter and not _leads_to(interpreter, env):
        with suppress(ProgramNotFoundError):
            search_path = (await find_program(interpreter, env)).search_path
    argv = (str(found.program), *command.argv[1:])
    its_env = dict(command.env) if search_path is None else {"PATH": search_path, **command.env}
    return Command(argv, its_env, command.name, command.cwd, command.dialect)


def _leads_to(name: str, env: Mapping[str, str]) -> bool:
    """Whether PATH finds the same program with and without untrusted directories."""
    found = look_up(name, trusted_places(_own(env)))
    return found is not None and found == look_up(name, _own(env).split(os.pathsep))


def _own(env: Mapping[str, str]) -> str:
    return env.get("PATH", os.defpath)


def _interpreter(program: Path) -> str | None:
    """The interpreter that `env` looks up for a script, from its first line."""
    try:
        with program.open("rb") as file:
            first = file.readline(256)
    except OSError:
        return None
    words = first[2:].split() if first.startswith(b"#!") else []
    if len(words) < len(("env", "node")) or not words[0].endswith(b"/env"):
        return None
    return (words[2] if words[1] == b"-S" and words[2:] else words[1]).decode(errors="replace")


async def login_shell_path(env: Mapping[str, str], *, seconds: float = PROBE_TIME) -> list[str]:
    """Directories of PATH in a terminal; empty if the login shell fails."""
    marker = f"__{secrets.token_hex(8)}__"

    def is_complete(said: bytes) -> bool:
        return (
            said.count(marker.encode()) == len(("before", "after")) or len(said) > _MAX_OUTPUT_BYTES
        )

    script = f"printf '%s%s%s' {marker} \"$PATH\" {marker}"
    shell = env.get("SHELL") or "/bin/sh"
    spec = ProcessSpec((shell, "-l", "-i", "-c", script), env, NOWHERE)
    try:
        # Do not wait for its exit: background processes may hold stdout open.
        said = (await run_collecting(spec, seconds=seconds, is_enough=is_complete)).said
    except (OSError, TimeoutError):
        return []
    parts = said.decode(errors="surrogateescape").split(marker)
    complete = len(parts) == len(("noise", "path", "noise"))
    return [each for each in parts[1].split(os.pathsep) if each.startswith("/")] if complete else []


def _version(place: Path) -> tuple[int, ...]:
    """`.../v20.1.0/bin` gives (20, 1, 0)."""
    for part in reversed(place.parts):
        digits = part.removeprefix("v").split(".")
        if all(each.isdecimal() for each in digits):
            return tuple(int(each) for each in digits)
    return ()


INSTALL_TIME: Final = 900.0
"""Timeout of an installer in seconds."""

_SHOWN_LINES: Final = 8


class ToolError(LocalIOError):
    """An installer did not start, failed, or timed out; includes its last output."""


async def run_tool(
    argv: Sequence[str],
    *,
    cwd: Path,
    seconds: float = INSTALL_TIME,
) -> str:
    """Run a program and return its stdout and stderr; cancellation kills it.

    Raises:
        ToolError: it failed.
    """
    # Same search as `has_tool`: the PATH of a desktop session lacks some installers.
    search_path = usual_path(os.environ)
    program = str(look_up(argv[0], search_path.split(os.pathsep)) or argv[0])
    env = {**os.environ, "PATH": search_path}
    spec = ProcessSpec((program, *argv[1:]), env, cwd, asyncio.subprocess.STDOUT)
    try:
        output = await run_collecting(spec, seconds=seconds)
    except TimeoutError as error:
        raise ToolError(f"{argv[0]} timed out after {seconds:g} s", "try again") from error
    except OSError as error:
        raise ToolError(
            f"{argv[0]} did not start: {error.strerror}", "check that it is installed"
        ) from error
    text = plain_text(output.said.decode(errors="replace"))
    if output.code != 0:
        tail = "\n".join(f"| {line}" for line in text.strip().splitlines()[-_SHOWN_LINES:])
        raise ToolError(
            f"`{' '.join(argv[:3])} …` failed with exit code {output.code}",
            f"its last output:\n{tail}",
        )
    return text


_EXIT_TIMEOUT: Final = 5.0
_PIPE_BYTES: Final = 64 * 1024


async def start_process(
    starting: Coroutine[Any, Any, asyncio.subprocess.Process],
) -> asyncio.subprocess.Process:
    """Complete the start of a program even if the caller is canceled, then stop it.

    A start that is canceled midway hangs, waiting for pipes that are never connected.

    Args:
        starting: the awaitable of `asyncio.create_subprocess_exec`.

    Raises:
        OSError: it cannot be started.
    """

    async def start() -> asyncio.subprocess.Process | OSError:
        try:
            return await starting
        except OSError as error:
            return error

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(start())
        try:
            started = await asyncio.shield(task)
        except asyncio.CancelledError:
            begun = await task
            if not isinstance(begun, OSError):
                await end_process(begun)
            raise
    if isinstance(started, OSError):
        raise started
    return started


async def run_with_input(spec: ProcessSpec, stdin: bytes) -> CollectedOutput:
    """Run a program on an input until it exits; kill it on cancellation.

    Raises:
        OSError: it cannot be started.
    """
    process = await start_process(
        asyncio.create_subprocess_exec(
            *spec.argv,
            cwd=spec.cwd,
            env=dict(spec.env),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=spec.stderr,
            start_new_session=True,
        )
    )
    try:
        said, _ = await process.communicate(stdin)
        return CollectedOutput(said, process.returncode)
    finally:
        await end_process(process)


async def end_process(process: asyncio.subprocess.Process) -> None:
    """Kill a program and its process group, if it still runs, and wait until it has exited."""
    if process.returncode is None:
        kill_group(process)
    # A process blocks on a full pipe, and a pipe stays open until all of it is read.
    unread = [each for each in (process.stdout, process.stderr) if each and not each.at_eof()]
    if process.returncode is not None and not unread:
        return
    with suppress(TimeoutError):
        # With a limit: a process that left the group may hold a pipe open.
        async with asyncio.timeout(_EXIT_TIMEOUT), asyncio.TaskGroup() as tasks:
            for stream in unread:
                tasks.create_task(_drop(stream))
            await process.wait()


def kill_group(process: asyncio.subprocess.Process) -> None:
    """Kill the process group that a program leads, if it exists."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


async def _drop(stream: asyncio.StreamReader) -> None:
    while await stream.read(_PIPE_BYTES):
        pass

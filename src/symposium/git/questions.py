"""Query a repository with git, without running a program that the repository names.

Git reads a configuration that Symposium writes (`symposium.git.isolation`). User settings that
would start an interactive program are overridden.
"""

import asyncio
import os
import signal
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from localio.git_settings import find_git_directories
from symposium.errors import SymposiumError
from symposium.git.isolation import (
    GitConfigError,
    Isolation,
    clean_environment,
    config_variables,
    isolate,
)

MAX_BYTES: Final = 8 * 1024 * 1024
"""Largest output to read, in bytes; git is stopped after that."""

QUESTION_TIMEOUT: Final = 20.0
"""Limit in seconds for one query."""

_CHUNK: Final = 64 * 1024
_EXIT_TIMEOUT: Final = 5.0
_TAIL: Final = 2000
_QUIET_SETTINGS: Final = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.untrackedCache": "false",
    "diff.external": "",
    "diff.suppressBlankEmpty": "false",
    "protocol.allow": "never",
}


class GitError(SymposiumError):
    """Git cannot answer: no repository, or no such revision."""


@dataclass(frozen=True, slots=True)
class GitAnswer:
    """Output of git.

    Attributes:
        output: at most `MAX_BYTES`.
        is_cut: whether there was more.
        code: exit code; 0 if git was stopped because there was more.
        said: the end of stderr.
    """

    output: bytes
    is_cut: bool
    code: int
    said: str

    @property
    def text(self) -> str:
        """The output, with bytes that are not UTF-8 replaced."""
        return self.output.decode(errors="replace")


@dataclass(frozen=True, slots=True)
class GitRepository:
    """A repository whose settings cannot start a program.

    Attributes:
        top: root folder of the work tree.
        variables: environment that points git to the data and away from the configuration.
    """

    top: Path
    variables: Mapping[str, str]

    async def ask(self, *arguments: str) -> GitAnswer:
        """Run git at the top of the work tree.

        Raises:
            GitError: git cannot be run or timed out.
        """
        return await _run(self.top, arguments, self.variables)

    async def output(self, *arguments: str) -> str:
        """Run git and return its output.

        Raises:
            GitError: git exits with an error.
        """
        answer = await self.ask(*arguments)
        if answer.code:
            raise GitError(f"git {arguments[0]}: {answer.said or answer.code}", "")
        return answer.text


async def open_repository(folder: Path) -> GitRepository:
    """Find the repository that contains a folder.

    Raises:
        GitError: no repository contains it, or git is not installed.
    """
    isolation = await asyncio.to_thread(_isolation, folder)
    top = None if isolation is None else isolation.directories.worktree
    if isolation is None or top is None:
        raise GitError(f"{folder} is not in a git repository", "run the command inside one")
    settings = (*isolation.of_worktree, *_QUIET_SETTINGS.items())
    variables = {**isolation.variables, **config_variables(settings)}
    found = await _run(top, ["rev-parse", "--git-dir"], variables)
    if found.code:
        raise GitError(f"{folder} is not in a git repository", found.said)
    return GitRepository(top, variables)


def _isolation(folder: Path) -> Isolation | None:
    found = find_git_directories(folder)
    try:
        return None if found is None else isolate(found)
    except GitConfigError as error:
        raise GitError(f"cannot read the git repository of {folder}", str(error)) from error


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    return {
        **clean_environment(),
        **variables,
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


async def _run(folder: Path, arguments: Sequence[str], variables: Mapping[str, str]) -> GitAnswer:
    try:
        process = await start_process(
            asyncio.create_subprocess_exec(
                *("git", "--no-pager", "--literal-pathspecs", *arguments),
                cwd=folder,
                env=_environment(variables),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        )
    except OSError as error:
        reason = error.strerror or str(error)
        raise GitError(f"cannot run git in {folder}: {reason}", "install git") from error
    try:
        async with asyncio.timeout(QUESTION_TIMEOUT):
            return await _read(process)
    except TimeoutError as error:
        message = f"git {arguments[0]} timed out after {QUESTION_TIMEOUT:g} s"
        raise GitError(message, "use a smaller range") from error
    finally:
        await end_process(process)


async def _read(process: asyncio.subprocess.Process) -> GitAnswer:
    assert process.stdout is not None
    assert process.stderr is not None
    async with asyncio.TaskGroup() as tasks:
        said = tasks.create_task(_read_tail(process.stderr))
        output = bytearray()
        while len(output) <= MAX_BYTES and (chunk := await process.stdout.read(_CHUNK)):
            output += chunk
        is_cut = len(output) > MAX_BYTES
        if is_cut:
            _kill(process)
            await _drop(process.stdout)
        code = await process.wait()
    return GitAnswer(bytes(output[:MAX_BYTES]), is_cut, 0 if is_cut else code, said.result())


async def _read_tail(stream: asyncio.StreamReader) -> str:
    tail = b""
    while chunk := await stream.read(_CHUNK):
        tail = (tail + chunk)[-_TAIL:]
    return tail.decode(errors="replace").strip()


async def start_process(
    starting: Coroutine[Any, Any, asyncio.subprocess.Process],
) -> asyncio.subprocess.Process:
    """Complete the start of a program even if the caller is cancelled, then stop it.

    A start that is cancelled halfway hangs: it waits for pipes that were never connected.

    Args:
        starting: the coroutine of `asyncio.create_subprocess_exec`.

    Raises:
        OSError: the program cannot be started.
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


async def end_process(process: asyncio.subprocess.Process) -> None:
    """Kill a program and its process group if it still runs, and wait for its exit."""
    if process.returncode is not None:
        return
    _kill(process)
    with suppress(TimeoutError):
        # Limited: a process that left the group may keep a pipe open.
        async with asyncio.timeout(_EXIT_TIMEOUT), asyncio.TaskGroup() as tasks:
            # A process blocks on a full pipe: drain it before waiting.
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    tasks.create_task(_drop(stream))
            await process.wait()


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


async def _drop(stream: asyncio.StreamReader) -> None:
    while await stream.read(_CHUNK):
        pass

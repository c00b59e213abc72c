"""Ask git about a repository without running a program that the repository names.

Git reads a configuration that Symposium writes in place of the repository's (`git_isolation`).
Settings of the user that would start a program for a person are overridden here.
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
"""Bytes of an answer that are read; git is stopped after that."""

QUESTION_TIMEOUT: Final = 20.0
"""Seconds that one question may take."""

_CHUNK: Final = 64 * 1024
_FAREWELL: Final = 5.0
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
    """Git cannot answer: there is no repository, or no such revision."""


@dataclass(frozen=True, slots=True)
class GitAnswer:
    """Output of git.

    Attributes:
        output: at most `MAX_BYTES`.
        is_cut: whether there was more.
        code: its exit code; 0 if it was stopped because there was more.
        said: the end of stderr.
    """

    output: bytes
    is_cut: bool
    code: int
    said: str

    @property
    def text(self) -> str:
        """The output; what is no UTF-8 is replaced."""
        return self.output.decode(errors="replace")


@dataclass(frozen=True, slots=True)
class GitRepository:
    """A repository whose settings can start nothing.

    Attributes:
        top: the folder that holds the whole work tree.
        variables: lead git to its data, and past its configuration.
    """

    top: Path
    variables: Mapping[str, str]

    async def ask(self, *arguments: str) -> GitAnswer:
        """Run git at the top.

        Raises:
            GitError: it cannot be run, or has not ended in time.
        """
        return await _run(self.top, arguments, self.variables)

    async def output(self, *arguments: str) -> str:
        """Run git for its output.

        Raises:
            GitError: git refuses.
        """
        answer = await self.ask(*arguments)
        if answer.code:
            raise GitError(f"git {arguments[0]}: {answer.said or answer.code}", "")
        return answer.text


async def open_repository(folder: Path) -> GitRepository:
    """The repository that a folder is in, found upwards.

    Raises:
        GitError: it is not in a repository, or git is not installed.
    """
    isolation = await asyncio.to_thread(_isolation, folder)
    top = None if isolation is None else isolation.directories.worktree
    if isolation is None or top is None:
        raise GitError(f"{folder} is in no git repository", "run it inside one")
    settings = (*isolation.of_worktree, *_QUIET_SETTINGS.items())
    variables = {**isolation.variables, **config_variables(settings)}
    found = await _run(top, ["rev-parse", "--git-dir"], variables)
    if found.code:
        raise GitError(f"{folder} is in no git repository", found.said)
    return GitRepository(top, variables)


def _isolation(folder: Path) -> Isolation | None:
    found = find_git_directories(folder)
    try:
        return None if found is None else isolate(found)
    except GitConfigError as error:
        raise GitError(f"{folder} is in no git repository that can be read", str(error)) from error


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
        raise GitError(f"git cannot be run in {folder}: {reason}", "install git") from error
    try:
        async with asyncio.timeout(QUESTION_TIMEOUT):
            return await _read(process)
    except TimeoutError as error:
        message = f"git {arguments[0]} has not answered within {QUESTION_TIMEOUT:g} s"
        raise GitError(message, "ask for less") from error
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

    A start that is cancelled half way hangs: it waits for pipes that were never connected.

    Args:
        starting: what `asyncio.create_subprocess_exec` gives.

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


async def end_process(process: asyncio.subprocess.Process) -> None:
    """Kill a program and what it has started, if it still runs, and wait until it is gone."""
    if process.returncode is not None:
        return
    _kill(process)
    with suppress(TimeoutError):
        # With a limit: a process that left the group may hold a pipe open.
        async with asyncio.timeout(_FAREWELL), asyncio.TaskGroup() as tasks:
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

"""Runs the commands of a recipe that a person has allowed, and passes on what they say."""

import asyncio
import os
import re
import shlex
import signal
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from symposium.git.isolation import clean_environment
from symposium.taskspaces.model import Taskspace
from symposium.taskspaces.port_blocks import variables

PATIENCE: Final = 3600.0
"""Seconds that one command may take."""

_LONGEST_LINE: Final = 8192
_GRACE: Final = 2.0
_TEMPLATE: Final = re.compile(r"\{\{\s*([\w.]+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class CommandFailure:
    """A command that did not end well.

    Attributes:
        code: its exit code; None when it took too long.
    """

    command: str
    code: int | None

    @property
    def text(self) -> str:
        """For people."""
        if self.code is None:
            return f"`{self.command}` took longer than {PATIENCE:g} s"
        return f"`{self.command}` ended with exit code {self.code}"


def command_environment(
    taskspace: Taskspace, clone: Path, around: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What commands find in their environment, under the names of every tool that we read.

    Args:
        taskspace: whose they are.
        clone: the project's own checkout.
        around: what they find beside that; what we have ourselves if not given.
    """
    worktree, port = taskspace.worktree, taskspace.ports
    return {
        **clean_environment(around),
        **variables(taskspace),
        "ROOT_WORKTREE_PATH": str(clone),
        "CODEX_WORKTREE_PATH": worktree,
        "CODEX_SOURCE_TREE_PATH": str(clone),
        "CONDUCTOR_WORKSPACE_PATH": worktree,
        "CONDUCTOR_ROOT_PATH": str(clone),
        "CONDUCTOR_WORKSPACE_NAME": Path(worktree).name,
        **({"CONDUCTOR_PORT": str(port.first)} if port else {}),
    }


async def run_commands(
    commands: Sequence[str], cwd: Path, env: Mapping[str, str], say: Callable[[str], None]
) -> CommandFailure | None:
    """Run them in order, each in a group of its own; the first that fails ends it."""
    for command in commands:
        say(f"$ {command}")
        try:
            filled = _filled(command, env)
        except KeyError as error:
            say(f"{error.args[0]} is a template that is not known here")
            return CommandFailure(command, 127)
        failure = await _run(filled, cwd, env, say)
        if failure is not None:
            return failure
    return None


def _filled(command: str, env: Mapping[str, str]) -> str:
    names = {
        "branch": "SYMPOSIUM_BRANCH",
        "worktree": "SYMPOSIUM_WORKTREE",
        "worktree_path": "SYMPOSIUM_WORKTREE",
        "repo_root": "CONDUCTOR_ROOT_PATH",
        "repo_path": "CONDUCTOR_ROOT_PATH",
        "main_worktree": "CONDUCTOR_ROOT_PATH",
    }
    return _TEMPLATE.sub(lambda found: shlex.quote(env[names[found[1]]]), command)


async def _run(
    command: str, cwd: Path, env: Mapping[str, str], say: Callable[[str], None]
) -> CommandFailure | None:
    async with _output(say) as writing:
        return await _ended(command, cwd, env, writing)


@asynccontextmanager
async def _output(say: Callable[[str], None]) -> AsyncGenerator[int]:
    """A pipe whose lines are said, for the life of one command.

    One of ours: on those of asyncio a process is only over when the other end is closed, and that
    is in the hands of whatever the command has left behind outside of its group.
    """
    reading, writing = os.pipe()
    output = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(output), os.fdopen(reading, "rb", buffering=0)
    )
    async with asyncio.TaskGroup() as tasks:
        passing = tasks.create_task(_pass_on(output, say))
        try:
            yield writing
        finally:
            os.close(writing)
            await asyncio.wait({passing}, timeout=_GRACE)
            passing.cancel()
            transport.close()


async def _ended(
    command: str, cwd: Path, env: Mapping[str, str], writing: int
) -> CommandFailure | None:
    process = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", command),
        cwd=cwd,
        env=dict(env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=writing,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            code = await process.wait()
    except TimeoutError:
        return CommandFailure(command, None)
    finally:
        _kill(process.pid)
        await process.wait()
    return CommandFailure(command, code) if code else None


def _kill(group: int) -> None:
    """Also what a command has left behind in its group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


async def _pass_on(stdout: asyncio.StreamReader, say: Callable[[str], None]) -> None:
    rest = b""
    while chunk := await stdout.read(1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            say(line[:_LONGEST_LINE].decode(errors="replace").rstrip("\r"))
        if len(rest) > _LONGEST_LINE:
            say(rest[:_LONGEST_LINE].decode(errors="replace"))
            rest = b""
    if rest:
        say(rest.decode(errors="replace"))

"""Copy files into a worktree, and run its setup commands."""

import asyncio
import os
import re
import shlex
import shutil
import signal
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from symposium.tasks.model import RefusedNameError, TaskspaceError
from symposium.tasks.recipe import SetUpRecipe
from symposium.tasks.repository import Repository

COMMAND_TIMEOUT: Final = 3600.0
"""Timeout for one command, in seconds."""

_MAX_LINE: Final = 8192
_GRACE: Final = 2.0
_TEMPLATE: Final = re.compile(r"\{\{\s*([\w.]+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class CommandFailure:
    """A command that failed.

    Attributes:
        code: its exit code; None after a timeout.
    """

    command: str
    code: int | None

    @property
    def text(self) -> str:
        """Description of the failure for the user."""
        if self.code is None:
            return f"`{self.command}` timed out after {COMMAND_TIMEOUT:g} s"
        return f"`{self.command}` failed with exit code {self.code}"


async def run_commands(
    commands: Sequence[str], cwd: Path, env: Mapping[str, str], say: Callable[[str], None]
) -> CommandFailure | None:
    """Run commands in order, each in its own process group; stops at the first failure."""
    for command in commands:
        say(f"$ {command}")
        try:
            filled = _filled(command, env)
        except KeyError as error:
            say(f"{error.args[0]} is an unknown template")
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
    """A pipe that reports each line of output, for one command.

    A plain pipe: with those of asyncio a process ends only when the other end is closed, which
    depends on processes that the command left outside of its group.
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
        async with asyncio.timeout(COMMAND_TIMEOUT):
            code = await process.wait()
    except TimeoutError:
        return CommandFailure(command, None)
    finally:
        _kill(process.pid)
        await process.wait()
    return CommandFailure(command, code) if code else None


def _kill(group: int) -> None:
    """Kill the group, with processes that a command left in it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


async def _pass_on(stdout: asyncio.StreamReader, say: Callable[[str], None]) -> None:
    rest = b""
    while chunk := await stdout.read(1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            say(line[:_MAX_LINE].decode(errors="replace").rstrip("\r"))
        if len(rest) > _MAX_LINE:
            say(rest[:_MAX_LINE].decode(errors="replace"))
            rest = b""
    if rest:
        say(rest.decode(errors="replace"))


async def bring(
    set_up: SetUpRecipe, repository: Repository, worktree: Path, scratch: Path
) -> list[str]:
    """Copy and link files of the setup; returns the new paths. Existing files stay.

    Args:
        set_up: the setup.
        repository: its main checkout is the source.
        worktree: the target.
        scratch: a directory for a file of patterns.

    Raises:
        TaskspaceError: a path is outside of the worktree or cannot be copied.
    """
    if repository.is_bare:
        return []
    copied = await _untracked(set_up.all_of("copy"), repository, scratch)
    return await asyncio.to_thread(
        _bring_files, copied, set_up.all_of("link"), repository.root, worktree
    )


async def _untracked(patterns: tuple[str, ...], repository: Repository, scratch: Path) -> list[str]:
    if not patterns:
        return []
    file = scratch / f"patterns-{os.urandom(8).hex()}"
    await asyncio.to_thread(_write, file, "\n".join(patterns))
    try:
        listed = await repository.git.ask(
            "ls-files", "-o", "-i", f"--exclude-from={file}", "-z", "--", "."
        )
    finally:
        await asyncio.to_thread(file.unlink, missing_ok=True)
    return listed.names


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", errors="surrogateescape")


def _bring_files(
    copied: list[str], linked: tuple[str, ...], root: Path, worktree: Path
) -> list[str]:
    came: list[str] = []
    try:
        for name in copied:
            source, target = root / name, _inside(worktree, name)
            if os.path.lexists(target):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
            came.append(name)
        for name in linked:
            source, target = _inside(root, name), _inside(worktree, name)
            if not os.path.lexists(source) or os.path.lexists(target):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(source)
            came.append(name)
    except OSError as error:
        raise TaskspaceError(f"cannot copy {error.filename}: {error.strerror}", "") from error
    return came


def _inside(directory: Path, name: str) -> Path:
    """The path of a name in a directory, without links on the way."""
    path = Path(name)
    hint = "name a path inside the clone"
    if path.is_absolute() or ".." in path.parts or not path.parts or ".git" in path.parts:
        raise RefusedNameError(f"{name!r} is outside of the worktree", hint)
    here = directory
    for part in path.parts[:-1]:
        here = here / part
        if here.is_symlink():
            raise RefusedNameError(f"{name!r} is behind the link {here}", hint)
    return directory / path

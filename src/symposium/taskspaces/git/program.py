"""Runs git: arguments only, a clean environment, bounded output, nothing that a repository brings.

What a repository's own configuration would run (hooks, monitors, editors) is switched off here;
what it names under names of its own (filters, merge drivers) is switched off by `neutral`.
"""

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from symposium.diffs.git import end_process, start_process
from symposium.taskspaces.failures import GitError, TaskspaceError

PATIENCE: Final = 120.0
"""Seconds that a command may take."""

MOST_OUTPUT: Final = 256 * 1024 * 1024
"""Bytes of stdout that are taken."""

_SAID: Final = 4000
"""Bytes at the end of stderr that are kept."""

_KEPT: Final = frozenset(
    {
        *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"),
        *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"),
        *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"),
    }
)
"""What the user may have set for all git; every other GIT_ variable means some other place."""

_SETTINGS: Final = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.pager=cat", "core.askPass="),
    *("core.editor=true", "sequence.editor=true", "core.quotePath=false", "diff.external="),
    *("gc.auto=0", "maintenance.auto=false", "protocol.ext.allow=never", "log.showSignature=false"),
    *("submodule.recurse=false", "fetch.recurseSubmodules=false", "advice.detachedHead=false"),
)

_OURS: Final = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_MERGE_AUTOEDIT": "no",
    "LC_ALL": "C",
}


inherited: Final[set[int]] = set()
"""Open files that every git of this process gets: one place, so that no git is without them."""

at_work: Final[set[int]] = set()
"""The gits of this process that run now; each is the leader of a session of its own."""


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended; `out` is stdout, `said` the end of stderr."""

    code: int
    out: bytes
    said: str

    @property
    def text(self) -> str:
        """Its output without the last newline; names that are no UTF-8 survive."""
        return os.fsdecode(self.out).rstrip("\n")

    @property
    def names(self) -> list[str]:
        """Its output, cut at each NUL."""
        return [os.fsdecode(name) for name in self.out.split(b"\0") if name]


@dataclass(frozen=True, slots=True)
class Git:
    """Git in one directory.

    Attributes:
        variables: set for git on top of the clean environment, as in `GIT_INDEX_FILE`.
        settings: `key=value` each, on top of ours.
    """

    directory: Path
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    settings: tuple[str, ...] = ()

    async def run(self, *words: str, stdin: bytes = b"", patience: float = PATIENCE) -> Done:
        """Run to the end, whatever its exit code.

        Raises:
            TaskspaceError: git is not there, takes too long, or says too much.
        """
        argv = ["git", *(w for s in (*_SETTINGS, *self.settings) for w in ("-c", s)), *words]
        try:
            process = await start_process(
                asyncio.create_subprocess_exec(
                    *argv,
                    cwd=self.directory,
                    env=clean_environment() | _OURS | dict(self.variables),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    start_new_session=True,
                    pass_fds=tuple(inherited),
                )
            )
        except FileNotFoundError as error:
            if not self.directory.is_dir():
                raise TaskspaceError(f"{self.directory} is not there", "") from error
            raise TaskspaceError("git was not found", "install git 2.38 or newer") from error
        except OSError as error:
            raise TaskspaceError(f"{self.directory}: {error.strerror}", "") from error
        at_work.add(process.pid)
        try:
            async with asyncio.timeout(patience):
                return await _talk(process, stdin, words)
        except TimeoutError as error:
            reason = f"git {words[0]} took longer than {patience:g} s"
            raise TaskspaceError(reason, "") from error
        finally:
            try:
                await end_process(process)
            finally:
                at_work.discard(process.pid)

    async def ask(self, *words: str, stdin: bytes = b"", patience: float = PATIENCE) -> Done:
        """Run to the end.

        Raises:
            GitError: its exit code is not 0.
            TaskspaceError: as `run`.
        """
        done = await self.run(*words, stdin=stdin, patience=patience)
        if done.code:
            raise GitError(words, done.code, done.said)
        return done

    async def text(self, *words: str) -> str:
        """What it says on stdout; see `ask`."""
        return (await self.ask(*words)).text

    async def maybe(self, *words: str) -> str | None:
        """What it says on stdout; None if it fails or says nothing."""
        done = await self.run(*words)
        return (done.text or None) if not done.code else None

    def at(self, directory: Path) -> "Git":
        """The same in another directory."""
        return replace(self, directory=directory)

    def told(self, variables: Mapping[str, str]) -> "Git":
        """The same with more variables."""
        return replace(self, variables={**self.variables, **variables})


def clean_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment, ours by default, without what would send git to another place."""
    return {
        name: value
        for name, value in (os.environ if environment is None else environment).items()
        if not name.startswith("GIT_") or name in _KEPT
    }


async def _talk(process: asyncio.subprocess.Process, stdin: bytes, words: tuple[str, ...]) -> Done:
    assert process.stdin
    assert process.stdout
    assert process.stderr
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_feed(process.stdin, stdin))
            out = tasks.create_task(_take(process.stdout, words))
            said = tasks.create_task(_tail(process.stderr))
    except* TaskspaceError as group:
        raise group.exceptions[0] from None
    code = await process.wait()
    return Done(code, out.result(), said.result().decode(errors="replace").strip())


async def _feed(stdin: asyncio.StreamWriter, data: bytes) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):
        if data:
            stdin.write(data)
            await stdin.drain()
        stdin.close()
        await stdin.wait_closed()


async def _take(stdout: asyncio.StreamReader, words: tuple[str, ...]) -> bytes:
    taken = bytearray()
    while chunk := await stdout.read(1 << 16):
        taken += chunk
        if len(taken) > MOST_OUTPUT:
            raise TaskspaceError(f"git {words[0]} says more than {MOST_OUTPUT} bytes", "")
    return bytes(taken)


async def _tail(stderr: asyncio.StreamReader) -> bytes:
    tail = b""
    while chunk := await stderr.read(1 << 16):
        tail = (tail + chunk)[-_SAID:]
    return tail

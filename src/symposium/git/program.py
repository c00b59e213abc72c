"""Run git with bounded output, in a clean environment, without programs of the repository.

Git reads a configuration that Symposium writes (`symposium.git.isolation`), without hooks.
User settings that would start an interactive program are overridden.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from localio.errors import LocalIOError
from localio.git_settings import GitDirectories, Setting, find_git_directories, git_directories_at
from symposium.git.isolation import (
    GitConfigError,
    Isolation,
    allowed_protocols,
    clean_environment,
    config_variables,
    in_words,
    isolate,
)
from symposium.git.questions import end_process, start_process

COMMAND_TIMEOUT: Final = 120.0
"""Default limit in seconds for one command."""

MAX_OUTPUT: Final = 256 * 1024 * 1024
"""Largest accepted stdout, in bytes."""

_STDERR_TAIL: Final = 4000
"""Bytes of stderr to keep, from its end."""

_REFUSED: Final = 128
"""Exit code of git for a fatal error."""

_SETTINGS: Final = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.pager=cat", "core.askPass="),
    *("core.editor=true", "sequence.editor=true", "core.quotePath=false", "diff.external="),
    *("gc.auto=0", "maintenance.auto=false", "protocol.ext.allow=never", "log.showSignature=false"),
    *("submodule.recurse=false", "fetch.recurseSubmodules=false", "advice.detachedHead=false"),
    *("core.alternateRefsCommand=true", "worktree.useRelativePaths=false"),
)

_VARIABLES: Final = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_MERGE_AUTOEDIT": "no",
    "LC_ALL": "C",
}


inherited: Final[set[int]] = set()
"""File descriptors that every git of this process inherits."""

running_pids: Final[set[int]] = set()
"""Process ids of the running git commands; each leads its own session."""


class GitRunError(LocalIOError):
    """Git could not complete a command."""


class GitCommandError(GitRunError):
    """Git exited with an error.

    Attributes:
        words: arguments of the command.
        code: exit code.
        said: the end of stderr.
    """

    def __init__(self, words: Sequence[str], code: int, said: str) -> None:
        self.words = tuple(words)
        self.code = code
        self.said = said
        reason = said or f"exit code {code}"
        super().__init__(f"git {' '.join(words[:2])}: {reason}", "")


@dataclass(frozen=True, slots=True)
class GitResult:
    """Result of a command; `out` is stdout, `said` the end of stderr."""

    code: int
    out: bytes
    said: str

    @property
    def text(self) -> str:
        """Output without the last newline; names that are not UTF-8 survive."""
        return os.fsdecode(self.out).rstrip("\n")

    @property
    def names(self) -> list[str]:
        """Output, split at each NUL."""
        return [os.fsdecode(name) for name in self.out.split(b"\0") if name]


@dataclass(frozen=True, slots=True)
class Git:
    """Git in one directory.

    Attributes:
        variables: additional environment variables, such as `GIT_INDEX_FILE`. `GIT_DIR`
            names the repository; default: the repository that contains the directory.
        settings: `key=value` each, in addition to Symposium's.
        is_own: `GIT_DIR` is a directory that Symposium created: its configuration is trusted.
        is_outside: use no repository: for a command that creates one.
        protocols: `GIT_ALLOW_PROTOCOL` (git(1)); empty forbids every remote.
        is_completing: fetch objects that a partial clone lacks.
    """

    directory: Path
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    settings: tuple[str, ...] = ()
    is_own: bool = False
    is_outside: bool = False
    protocols: str = ""
    is_completing: bool = False

    async def run(
        self, *words: str, stdin: bytes = b"", patience: float = COMMAND_TIMEOUT
    ) -> GitResult:
        """Run a command and return its result, whatever its exit code.

        Raises:
            GitRunError: git is missing, takes too long, or writes too much.
        """
        argv = ["git", *(w for s in (*_SETTINGS, *self.settings) for w in ("-c", s)), *words]
        try:
            environment = await asyncio.to_thread(self._environment)
        except GitConfigError as error:
            return GitResult(_REFUSED, b"", f"fatal: {error}")
        try:
            process = await start_process(
                asyncio.create_subprocess_exec(
                    *argv,
                    cwd=self.directory,
                    env=environment,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    start_new_session=True,
                    pass_fds=tuple(inherited),
                )
            )
        except FileNotFoundError as error:
            if not self.directory.is_dir():
                raise GitRunError(f"{self.directory} does not exist", "") from error
            raise GitRunError("git was not found", "install git 2.38 or newer") from error
        except OSError as error:
            raise GitRunError(f"{self.directory}: {error.strerror}", "") from error
        running_pids.add(process.pid)
        try:
            async with asyncio.timeout(patience):
                return await _talk(process, stdin, words)
        except TimeoutError as error:
            reason = f"git {words[0]} took longer than {patience:g} s"
            raise GitRunError(reason, "") from error
        finally:
            try:
                await end_process(process)
            finally:
                running_pids.discard(process.pid)

    async def ask(
        self, *words: str, stdin: bytes = b"", patience: float = COMMAND_TIMEOUT
    ) -> GitResult:
        """Run a command and return its result.

        Raises:
            GitCommandError: its exit code is not 0.
            GitRunError: as `run`.
        """
        done = await self.run(*words, stdin=stdin, patience=patience)
        if done.code:
            raise GitCommandError(words, done.code, done.said)
        return done

    async def text(self, *words: str) -> str:
        """Return the output of a command; see `ask`."""
        return (await self.ask(*words)).text

    async def text_or_none(self, *words: str) -> str | None:
        """Return the output of a command; None if it fails or is empty."""
        done = await self.run(*words)
        return (done.text or None) if not done.code else None

    async def config(self, *words: str) -> GitResult:
        """Run `git config` on the clone's own file; git reads it as data only."""
        found = await asyncio.to_thread(self.directories)
        file = self.directory / "config" if found is None else found.common / "config"
        return await self.run("config", "--file", str(file), "--no-includes", *words)

    def at(self, directory: Path) -> "Git":
        """Return a copy for another directory."""
        return replace(self, directory=directory)

    def with_variables(self, variables: Mapping[str, str]) -> "Git":
        """Return a copy with additional variables."""
        return replace(self, variables={**self.variables, **variables})

    async def online(self) -> "Git":
        """Return a copy that may reach remotes, by the protocols that the user allows.

        Raises:
            GitRunError: git cannot be run there.
        """
        listed = await self.run("config", "-z", "--get-regexp", r"^protocol\..*\.allow$")
        entries = [entry.partition("\n") for entry in listed.names]
        rules = {key.removeprefix("protocol.").removesuffix(".allow"): v for key, _, v in entries}
        return replace(self, protocols=allowed_protocols(rules, os.environ))

    async def completing(self) -> "Git":
        """Return a copy that fetches objects a partial clone lacks (git-clone(1), `--filter`).

        Raises:
            GitRunError: git cannot be run there.
        """
        return replace(await self.online(), is_completing=True)

    async def of_worktree(self) -> tuple[Setting, ...]:
        """Settings of this worktree alone, such as for a sparse checkout."""
        isolation = await asyncio.to_thread(self._isolation)
        return () if isolation is None else isolation.of_worktree

    async def is_bare(self) -> bool:
        """Whether the clone's configuration says that it has no main checkout."""
        isolation = await asyncio.to_thread(self._isolation)
        return isolation is not None and isolation.is_bare

    def directories(self) -> GitDirectories | None:
        """Directories of the repository; None outside of a repository."""
        named = self.variables.get("GIT_DIR")
        if named is not None:
            return git_directories_at(Path(named))
        return find_git_directories(self.directory)

    def _isolation(self) -> Isolation | None:
        found = None if self.is_outside else self.directories()
        return None if found is None else isolate(found)

    def _environment(self) -> dict[str, str]:
        environment = clean_environment() | _VARIABLES | {"GIT_ALLOW_PROTOCOL": self.protocols}
        if self.is_own:
            return environment | dict(self.variables)
        isolation = self._isolation()
        if isolation is None:
            if not self.is_outside and self.directory.is_dir():
                raise GitConfigError("not a git repository", "")
            # A repository in a parent directory would bring its configuration.
            return environment | {"GIT_CEILING_DIRECTORIES": str(self.directory.parent)}
        settings = isolation.of_worktree + (isolation.promisors if self.is_completing else ())
        environment |= isolation.variables
        return environment | config_variables(settings) | dict(self.variables)


async def _talk(
    process: asyncio.subprocess.Process, stdin: bytes, words: tuple[str, ...]
) -> GitResult:
    assert process.stdin
    assert process.stdout
    assert process.stderr
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_feed(process.stdin, stdin))
            out = tasks.create_task(_take(process.stdout, words))
            said = tasks.create_task(_tail(process.stderr))
    except* GitRunError as group:
        raise group.exceptions[0] from None
    code = await process.wait()
    return GitResult(code, out.result(), in_words(said.result().decode(errors="replace").strip()))


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
        if len(taken) > MAX_OUTPUT:
            raise GitRunError(f"git {words[0]} wrote more than {MAX_OUTPUT} bytes", "")
    return bytes(taken)


async def _tail(stderr: asyncio.StreamReader) -> bytes:
    tail = b""
    while chunk := await stderr.read(1 << 16):
        tail = (tail + chunk)[-_STDERR_TAIL:]
    return tail

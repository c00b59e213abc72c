"""Run git without a shell, with a clean environment and limited output.

Git reads a filtered copy of the clone's configuration (`git_isolation`), without hooks. User
settings that would start an interactive program are overridden here.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from localio.errors import LocalIOError
from localio.git_isolation import Isolation, StandIns
from localio.git_settings import (
    GitConfigError,
    GitDirectories,
    Setting,
    allowed_protocols,
    clean_environment,
    config_variables,
    find_git_directories,
    git_directories_at,
    last_value,
)
from localio.processes import end_process, kill_group, start_process

COMMAND_TIMEOUT: Final = 120.0
"""Timeout of a command in seconds."""

MAX_OUTPUT: Final = 256 * 1024 * 1024
"""Maximum output of a command, in bytes."""

QUESTION_TIMEOUT: Final = 20.0
"""Timeout of a command of a `GitRepository` in seconds."""

MAX_BYTES: Final = 8 * 1024 * 1024
"""Maximum output of a command of a `GitRepository`; git is killed after that."""

_CHUNK: Final = 64 * 1024
_STDERR_TAIL: Final = 4000
"""Bytes kept from the end of stderr."""

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

_QUESTION_SETTINGS: Final[Sequence[Setting]] = (
    *(("core.fsmonitor", "false"), ("core.hooksPath", os.devnull), ("core.pager", "cat")),
    *(("core.untrackedCache", "false"), ("diff.external", ""), ("protocol.allow", "never")),
    ("diff.suppressBlankEmpty", "false"),
)

_QUESTION_VARIABLES: Final = {
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}

inherited: Final[set[int]] = set()
"""Open files that each git process inherits."""

running_pids: Final[set[int]] = set()
"""Running git processes; each is the leader of its session."""


class GitRunError(LocalIOError):
    """Git could not complete a command."""


class GitCommandError(GitRunError):
    """Git failed.

    Attributes:
        words: its arguments.
        code: its exit code.
        said: the end of its stderr.
    """

    def __init__(self, words: Sequence[str], code: int, said: str) -> None:
        self.words = tuple(words)
        self.code = code
        self.said = said
        reason = said or f"exit code {code}"
        super().__init__(f"git {' '.join(words[:2])}: {reason}", "")


@dataclass(frozen=True, slots=True)
class GitResult:
    """Result of a command; `out` is stdout, `said` the end of stderr.

    Attributes:
        code: its exit code; 0 if it was killed because it wrote too much.
        is_cut: whether it wrote too much.
    """

    code: int
    out: bytes
    said: str
    is_cut: bool = False

    @property
    def text(self) -> str:
        """Output without the last newline; invalid UTF-8 is preserved."""
        return os.fsdecode(self.out).rstrip("\n")

    @property
    def shown(self) -> str:
        """Complete output for display; invalid UTF-8 is replaced."""
        return self.out.decode(errors="replace")

    @property
    def names(self) -> list[str]:
        """Output split at NUL characters."""
        return [os.fsdecode(name) for name in self.out.split(b"\0") if name]


@dataclass(frozen=True, slots=True)
class Git:
    """Git in one directory.

    Attributes:
        stand_ins: directories that replace the configuration of clones.
        variables: set for git on top of the clean environment, as in `GIT_INDEX_FILE`. `GIT_DIR`
            names the repository; without it the repository of the directory is found.
        settings: additional settings as `key=value`.
        is_own: `GIT_DIR` was created by this program; its configuration is trusted.
        is_outside: no repository is used, for a command that creates one.
        protocols: `GIT_ALLOW_PROTOCOL` (git(1)). Default: no remotes.
        is_completing: whether to fetch missing objects of a partial clone.
    """

    directory: Path
    stand_ins: StandIns
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    settings: tuple[str, ...] = ()
    is_own: bool = False
    is_outside: bool = False
    protocols: str = ""
    is_completing: bool = False

    async def run(
        self, *words: str, stdin: bytes = b"", timeout: float = COMMAND_TIMEOUT
    ) -> GitResult:
        """Run a command; any exit code is accepted.

        Raises:
            GitRunError: git is missing, timed out, or wrote too much.
        """
        argv = ["git", *(w for s in (*_SETTINGS, *self.settings) for w in ("-c", s)), *words]
        try:
            environment = await asyncio.to_thread(self._environment)
        except GitConfigError as error:
            return GitResult(_REFUSED, b"", f"fatal: {error}")
        done = await _run(
            _Call(self.directory, argv, environment, stdin, words[0]),
            seconds=timeout,
            max_bytes=MAX_OUTPUT,
        )
        if done.is_cut:
            raise GitRunError(f"git {words[0]} wrote more than {MAX_OUTPUT} bytes", "")
        return replace(done, said=self.stand_ins.in_words(done.said))

    async def ask(
        self, *words: str, stdin: bytes = b"", timeout: float = COMMAND_TIMEOUT
    ) -> GitResult:
        """Run a command.

        Raises:
            GitCommandError: its exit code is not 0.
            GitRunError: see `run`.
        """
        done = await self.run(*words, stdin=stdin, timeout=timeout)
        if done.code:
            raise GitCommandError(words, done.code, done.said)
        return done

    async def text(self, *words: str) -> str:
        """Output of a command; see `ask`."""
        return (await self.ask(*words)).text

    async def text_or_none(self, *words: str) -> str | None:
        """Output of a command; None if it fails or is empty."""
        done = await self.run(*words)
        return (done.text or None) if not done.code else None

    async def config(self, *words: str) -> GitResult:
        """Run `git config` on the clone's file, which git reads as data only."""
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
        """Return a copy that can access remotes, with protocols that the user allows.

        Raises:
            GitRunError: git cannot run there.
        """
        listed = await self.run("config", "-z", "--get-regexp", r"^protocol\..*\.allow$")
        entries = [entry.partition("\n") for entry in listed.names]
        rules = {key.removeprefix("protocol.").removesuffix(".allow"): v for key, _, v in entries}
        return replace(self, protocols=allowed_protocols(rules, os.environ))

    async def completing(self) -> "Git":
        """Return a copy that fetches missing objects (git-clone(1), `--filter`).

        A clone that is not partial has all objects: its git gets no access to remotes.

        Raises:
            GitRunError: git cannot run there.
        """
        try:
            isolation = await asyncio.to_thread(self._isolation)
        except GitConfigError:
            return self  # the next command reports it
        if isolation is None or not isolation.promisors:
            return self
        return replace(await self.online(), is_completing=True)

    async def object_format(self) -> str:
        """The hash function of the clone's objects: `sha1` or `sha256`."""
        try:
            isolation = await asyncio.to_thread(self._isolation)
        except GitConfigError:
            isolation = None
        settings = () if isolation is None else isolation.settings
        return (last_value(settings, "extensions.objectformat") or "sha1").lower()

    async def of_worktree(self) -> tuple[Setting, ...]:
        """Settings of this worktree only, for example of a sparse checkout."""
        isolation = await asyncio.to_thread(self._isolation)
        return () if isolation is None else isolation.of_worktree

    async def is_bare(self) -> bool:
        """Whether the clone is configured as bare."""
        isolation = await asyncio.to_thread(self._isolation)
        return isolation is not None and isolation.is_bare

    def directories(self) -> GitDirectories | None:
        """Directories of the repository; None outside of one."""
        named = self.variables.get("GIT_DIR")
        if named is not None:
            return git_directories_at(Path(named))
        return find_git_directories(self.directory)

    def _isolation(self) -> Isolation | None:
        found = None if self.is_outside else self.directories()
        return None if found is None else self.stand_ins.isolate(found)

    def _environment(self) -> dict[str, str]:
        environment = clean_environment() | _VARIABLES | {"GIT_ALLOW_PROTOCOL": self.protocols}
        if self.is_own:
            return environment | dict(self.variables)
        isolation = self._isolation()
        if isolation is None:
            if not self.is_outside and self.directory.is_dir():
                raise GitConfigError("not a git repository", "")
            # A repository in a parent directory would apply its configuration.
            return environment | {"GIT_CEILING_DIRECTORIES": str(self.directory.parent)}
        settings = isolation.of_worktree + (isolation.promisors if self.is_completing else ())
        environment |= isolation.variables
        return environment | config_variables(settings) | dict(self.variables)


@dataclass(frozen=True, slots=True)
class GitRepository:
    """A work tree to query; git starts no programs there and changes nothing.

    Attributes:
        top: top directory of the work tree.
        variables: locate its data, and bypass its configuration.
    """

    top: Path
    variables: Mapping[str, str]

    async def ask(self, *words: str) -> GitResult:
        """Run git at the top; output beyond 8 MiB is truncated.

        Raises:
            GitRunError: git is missing, or timed out.
        """
        argv = ["git", "--no-pager", "--literal-pathspecs", *words]
        environment = {**clean_environment(), **self.variables, **_QUESTION_VARIABLES}
        call = _Call(self.top, argv, environment, b"", words[0])
        return await _run(call, seconds=QUESTION_TIMEOUT, max_bytes=MAX_BYTES)

    async def checked(self, *words: str) -> GitResult:
        """Run git as `ask` does, and check its exit code.

        Raises:
            GitCommandError: its exit code is not 0.
            GitRunError: see `ask`.
        """
        answer = await self.ask(*words)
        if answer.code:
            raise GitCommandError(words[:1], answer.code, answer.said)
        return answer

    async def output(self, *words: str) -> str:
        """Run git and return its output for display; see `checked` for the errors."""
        return (await self.checked(*words)).shown


async def open_repository(folder: Path, stand_ins: StandIns) -> GitRepository:
    """Find the repository of a folder or one of its parents.

    Raises:
        GitRunError: it is not in a repository, or git is not installed.
    """
    found = await asyncio.to_thread(find_git_directories, folder)
    if found is None or found.worktree is None:
        raise GitRunError(f"{folder} is not in a git repository", "run the command inside one")
    try:
        isolation = await asyncio.to_thread(stand_ins.isolate, found)
    except GitConfigError as error:
        raise GitRunError(f"cannot read the git repository of {folder}", str(error)) from error
    variables = config_variables((*isolation.of_worktree, *_QUESTION_SETTINGS))
    repository = GitRepository(found.worktree, {**isolation.variables, **variables})
    answer = await repository.ask("rev-parse", "--git-dir")
    if answer.code:
        raise GitRunError(f"{folder} is not in a git repository", answer.said)
    return repository


@dataclass(frozen=True, slots=True)
class _Call:
    directory: Path
    argv: Sequence[str]
    environment: Mapping[str, str]
    stdin: bytes
    name: str


async def _run(call: _Call, *, seconds: float, max_bytes: int) -> GitResult:
    try:
        process = await start_process(
            asyncio.create_subprocess_exec(
                *call.argv,
                cwd=call.directory,
                env=call.environment,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                pass_fds=tuple(inherited),
            )
        )
    except FileNotFoundError as error:
        if not call.directory.is_dir():
            raise GitRunError(f"{call.directory} does not exist", "") from error
        raise GitRunError("git was not found", "install git 2.38 or newer") from error
    except OSError as error:
        raise GitRunError(f"{call.directory}: {error.strerror}", "") from error
    running_pids.add(process.pid)
    try:
        async with asyncio.timeout(seconds):
            return await _talk(process, call.stdin, max_bytes)
    except TimeoutError as error:
        raise GitRunError(f"git {call.name} timed out after {seconds:g} s", "") from error
    finally:
        try:
            await end_process(process)
        finally:
            running_pids.discard(process.pid)


async def _talk(process: asyncio.subprocess.Process, stdin: bytes, max_bytes: int) -> GitResult:
    assert process.stdin
    assert process.stdout
    assert process.stderr
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_feed(process.stdin, stdin))
        said = tasks.create_task(_tail(process.stderr))
        out = bytearray()
        while len(out) <= max_bytes and (chunk := await process.stdout.read(_CHUNK)):
            out += chunk
        is_cut = len(out) > max_bytes
        if is_cut:
            kill_group(process)
    # A stopped git may block on its output; `end_process` drains it.
    code = 0 if is_cut else await process.wait()
    shown = said.result().decode(errors="replace").strip()
    return GitResult(code, bytes(out[:max_bytes]), shown, is_cut)


async def _feed(stdin: asyncio.StreamWriter, data: bytes) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):
        if data:
            stdin.write(data)
            await stdin.drain()
        stdin.close()
        await stdin.wait_closed()


async def _tail(stderr: asyncio.StreamReader) -> bytes:
    tail = b""
    while chunk := await stderr.read(_CHUNK):
        tail = (tail + chunk)[-_STDERR_TAIL:]
    return tail

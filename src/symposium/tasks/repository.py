"""A git repository: worktrees, base branch, remotes, lock, and landed commits.

Remotes are named as usual: a clone's settings do not choose programs.

A killed engine leaves its gits running. Each inherits a locked file (flock(2)): the lock is held
until the last one exits, and the next engine waits for it before it repairs anything.
"""

import asyncio
import fcntl
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localio.files import write_whole
from localio.git import Git, GitRunError, inherited
from localio.git_isolation import StandIns
from symposium.config.git import git_at
from symposium.tasks.model import AbsentError, Taskspace, TaskspaceError

_ADD_TIMEOUT: Final = 600.0
"""Timeout for writing the files of a worktree, in seconds."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A clone with its main checkout.

    Attributes:
        git: runs in it, without programs from it.
        common: its `.git` directory, shared by its worktrees.
        root: its main checkout; the `.git` directory itself where it is bare.
        is_bare: whether it has no main checkout.
    """

    git: Git
    common: Path
    root: Path
    is_bare: bool


async def open_repository(path: Path) -> Repository:
    """Open the clone that contains a directory.

    Raises:
        AbsentError: there is no clone, or git does not trust it.
    """
    git = git_at(_directory(path))
    found = git.directories()
    done = await git.run("rev-parse", "--git-dir")
    if found is None or done.code:
        hint = "change to a git clone, or run git init"
        raise AbsentError(f"{path} is not in a git repository: {done.said}", hint)
    is_bare = await git.is_bare()
    root = found.common if is_bare else found.main_checkout
    return Repository(git.at(root), found.common, root, is_bare or root == found.common)


def _directory(path: Path) -> Path:
    if not path.is_dir():
        raise AbsentError(f"{path} is not a directory", "name a directory inside a git clone")
    return path


@dataclass(frozen=True, slots=True)
class Worktree:
    """A worktree as git lists it (git-worktree(1), porcelain).

    Attributes:
        branch: its full ref; None when detached or bare.
        locked: reason of its lock; None if unlocked.
        prunable: reason why git would prune it; None for an intact one.
    """

    path: Path
    head: str | None = None
    branch: str | None = None
    locked: str | None = None
    prunable: str | None = None


def _named(path: str, stand_ins: StandIns) -> Path:
    """A worktree's path; git names the main one by its substitute directory."""
    common = stand_ins.common_of(Path(path))
    if common is None:
        return Path(path)
    return common.parent if common.name == ".git" else common


async def worktrees(git: Git) -> list[Worktree]:
    """All worktrees of a clone, the main one first."""
    listed = (await git.ask("worktree", "list", "--porcelain", "-z")).text
    found: list[Worktree] = []
    for record in listed.split("\0\0"):
        lines = [line.partition(" ") for line in record.strip("\0").split("\0") if line]
        facts = {key: value for key, _, value in lines}
        if "worktree" in facts:
            found.append(
                Worktree(
                    _named(facts["worktree"], git.stand_ins),
                    facts.get("HEAD"),
                    facts.get("branch"),
                    facts.get("locked"),
                    facts.get("prunable"),
                )
            )
    return found


async def add_worktree(git: Git, path: Path, *words: str) -> None:
    """Add a worktree to a clone.

    Args:
        git: runs in the clone.
        path: the new worktree.
        words: the options of `git worktree add`, then `--`, the path, and a commit.

    Raises:
        TaskspaceError: git failed, or the worktree's settings cannot be written.
    """
    completing = await git.completing()
    await completing.ask("worktree", "add", "--quiet", *words, timeout=_ADD_TIMEOUT)
    try:
        admin = await asyncio.to_thread(_link_to_clone, path)
    except OSError as error:
        raise TaskspaceError(f"cannot write {path}/.git: {error.strerror}", "") from error
    for key, value in await git.of_worktree():
        # A clone with a sparse checkout: copy the settings that git would copy.
        await git.ask("config", "--file", str(admin / "config.worktree"), key, value or "true")


def _link_to_clone(path: Path) -> Path:
    """Name the clone in the worktree's `.git`, not the substitute directory."""
    link = path / ".git"
    admin = Path(os.fsdecode(link.read_bytes()).removeprefix("gitdir: ").rstrip("\n")).resolve()
    write_whole(link, os.fsencode(f"gitdir: {admin}\n"))
    return admin


@dataclass(frozen=True, slots=True)
class BaseBranch:
    """The branch that new work starts from.

    Attributes:
        ref: full, as in `refs/remotes/origin/main`.
        branch: its short name, without the remote.
        remote: None for a local branch.
    """

    ref: str
    branch: str
    remote: str | None


async def find_base(git: Git, wanted: str | None) -> BaseBranch:
    """The base branch: the wanted one, else the remote's default, else a usual name, else HEAD's.

    Raises:
        TaskspaceError: the repository has no commit, or the wanted branch does not exist.
    """
    remotes = (await git.text("remote")).split()
    remote = "origin" if "origin" in remotes else next(iter(remotes), None)
    if wanted:
        if found := await _first(git, remote, [wanted]):
            return found
        raise AbsentError(f"branch {wanted!r} does not exist", "name one that git branch -a lists")
    # Few repositories have none of the usual names: only those need another git command.
    found = await _usual(git, remote) or await _first(git, remote, await _at_hand(git))
    if found:
        return found
    raise TaskspaceError("the repository has no commit yet", "make a first commit")


async def _first(git: Git, remote: str | None, names: Sequence[str]) -> BaseBranch | None:
    for name in names:
        if remote and await _exists(git, f"refs/remotes/{remote}/{name}"):
            return BaseBranch(f"refs/remotes/{remote}/{name}", name, remote)
        if await _exists(git, f"refs/heads/{name}"):
            return BaseBranch(f"refs/heads/{name}", name, None)
    return None


async def _usual(git: Git, remote: str | None) -> BaseBranch | None:
    """The remote's default branch, or one of a usual name; prefers the remote's to a local one."""
    local, names = "refs/heads/", ["main", "master", "develop"]
    theirs = f"refs/remotes/{remote}/" if remote else local
    refs = [f"{folder}{name}" for folder in (theirs, local) for name in ("HEAD", *names)]
    listed = await git.text("for-each-ref", "--format=%(refname) %(symref)", *refs)
    found = dict(line.split(" ", 1) for line in listed.splitlines())
    head = found.get(f"{theirs}HEAD", "")
    if remote and head.startswith(theirs):
        return BaseBranch(head, head.removeprefix(theirs), remote)
    for name in names:
        for folder, of in ((theirs, remote), (local, None)):
            if f"{folder}{name}" in found:
                return BaseBranch(f"{folder}{name}", name, of)
    return None


async def _at_hand(git: Git) -> list[str]:
    names: list[str] = []
    if current := await git.text_or_none("symbolic-ref", "-q", "--short", "HEAD"):
        names.append(current)
    if first := await git.text_or_none(
        "for-each-ref", "--count=1", "--format=%(refname)", "refs/heads"
    ):
        names.append(first.removeprefix("refs/heads/"))
    return names


async def _exists(git: Git, ref: str) -> bool:
    return (
        await git.text_or_none("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}") is not None
    )


async def commit_of(git: Git, name: str) -> str | None:
    """The id of a commit by name; None if it does not exist."""
    return await git.text_or_none(
        "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
    )


REMOTE_TIMEOUT: Final = 20.0
"""Timeout for a remote, in seconds; without an answer, local refs are used."""

_PUSH_TIMEOUT: Final = 120.0
_THEIR_END: Final = "--upload-pack=git-upload-pack"
_FETCH: Final = (
    *("fetch", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"),
    *("--no-auto-maintenance", "--refmap="),
)


async def fetch(git: Git, base: BaseBranch) -> None:
    """Fetch the remote's branch; does nothing for a local branch.

    Raises:
        TaskspaceError: the remote times out, or has no such branch.
    """
    if base.remote is not None:
        refspec = f"+refs/heads/{base.branch}:{base.ref}"
        words = (*_FETCH, _THEIR_END, "--end-of-options", base.remote, refspec)
        await (await git.online()).ask(*words, timeout=REMOTE_TIMEOUT)


async def ask(git: Git, remote: str) -> None:
    """Check that a remote answers.

    Raises:
        TaskspaceError: it does not, or times out.
    """
    words = ("ls-remote", "--quiet", "--heads", _THEIR_END, "--end-of-options", remote)
    await (await git.online()).ask(*words, timeout=REMOTE_TIMEOUT)


async def push(git: Git, remote: str, commit: str, branch: str) -> None:
    """Push a commit to a branch of a remote, if that is a fast-forward there.

    Raises:
        TaskspaceError: it is not, or the remote rejects it.
    """
    online = await git.online()
    for url in (await online.text("remote", "get-url", "--push", "--all", "--", remote)).split(
        "\n"
    ):
        if hook := await asyncio.to_thread(git.stand_ins.push_hook, url):
            reason = f"a push to {remote!r} would run {hook}; nothing was pushed"
            raise TaskspaceError(reason, f"push it yourself: git push {remote} {branch}")
    words = ("push", "--no-force", "--no-verify", "--no-signed", "--recurse-submodules=no")
    refspec = f"{commit}:refs/heads/{branch}"
    rest = ("--receive-pack=git-receive-pack", "--end-of-options", remote, refspec)
    await online.ask(*words, *rest, timeout=_PUSH_TIMEOUT)


_PAUSE: Final = 0.05


class EngineLock:
    """A file lock; held by one engine at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def take(self, seconds: float) -> None:
        """Wait for the lock and take it; blocks, so not for an event loop.

        Raises:
            TaskspaceError: another process still holds it after the timeout.
        """
        if self._file is not None:
            return
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        until = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > until:
                    os.close(file)
                    reason = f"{self._path} is locked by another engine, or a git of the last one"
                    raise TaskspaceError(reason, "stop that process, or wait for it") from error
                # The kernel's lock has no timeout (flock(2)); this runs in a thread.
                time.sleep(_PAUSE)
        self._file = file
        inherited.add(file)

    def give_back(self) -> None:
        """Release the lock; running gits hold it until they exit."""
        if self._file is not None:
            inherited.discard(self._file)
            os.close(self._file)
            self._file = None


_STATUS: Final = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal")
_QUICK: Final = ("--ignore-submodules=all", "--no-renames", "--no-ahead-behind")


async def is_landed(taskspace: Taskspace) -> bool:
    """Whether all work has landed: the newest commit has, and nothing is uncommitted.

    False if it cannot be checked.
    """
    if not taskspace.landed:
        return False
    try:
        git = git_at(Path(taskspace.worktree))
        seen = await git.run(*_STATUS, *_QUICK)
    except (GitRunError, TaskspaceError):
        return False
    about = [each for each in seen.names if each.startswith("# ")]
    return f"# branch.oid {taskspace.landed}" in about and len(about) == len(seen.names)

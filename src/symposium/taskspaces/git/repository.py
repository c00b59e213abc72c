"""What a repository is and has: its directories, its base branch, its worktrees."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localio.files import write_whole
from symposium.git.isolation import common_of
from symposium.git.program import Git
from symposium.taskspaces.failures import AbsentError, TaskspaceError

_ADD_PATIENCE: Final = 600.0
"""Seconds that writing the files of a worktree may take."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A clone.

    Attributes:
        git: runs in it, and runs nothing that it brings.
        common: its `.git` directory, shared by its worktrees.
        root: its main checkout; the `.git` directory itself where it is bare.
        is_bare: whether it has no main checkout.
    """

    git: Git
    common: Path
    root: Path
    is_bare: bool


async def open_repository(path: Path) -> Repository:
    """The clone that a directory belongs to.

    Raises:
        AbsentError: there is none, or git does not trust it.
    """
    git = Git(_directory(path))
    found = git.directories()
    done = await git.run("rev-parse", "--git-dir")
    if found is None or done.code:
        hint = "go to a git clone, or make one with git init"
        raise AbsentError(f"{path} is in no git repository: {done.said}", hint)
    is_bare = await git.is_bare()
    root = found.common if is_bare else found.main_checkout
    return Repository(git.at(root), found.common, root, is_bare or root == found.common)


def _directory(path: Path) -> Path:
    if not path.is_dir():
        raise AbsentError(f"{path} is no directory", "name one inside a git clone")
    return path


@dataclass(frozen=True, slots=True)
class Worktree:
    """One of a clone's, as git lists it (git-worktree(1), porcelain).

    Attributes:
        branch: its full ref; None when detached or bare.
        locked: why it is locked; None when it is not.
        prunable: why its directory is no longer what it was; None when all is well.
    """

    path: Path
    head: str | None = None
    branch: str | None = None
    locked: str | None = None
    prunable: str | None = None


def _named(path: str) -> Path:
    """A worktree's path; git names the main one by the directory that stands for the clone's."""
    common = common_of(Path(path))
    if common is None:
        return Path(path)
    return common.parent if common.name == ".git" else common


async def worktrees(git: Git) -> list[Worktree]:
    """All of a clone's, the main one first."""
    listed = (await git.ask("worktree", "list", "--porcelain", "-z")).text
    found: list[Worktree] = []
    for record in listed.split("\0\0"):
        lines = [line.partition(" ") for line in record.strip("\0").split("\0") if line]
        facts = {key: value for key, _, value in lines}
        if "worktree" in facts:
            found.append(
                Worktree(
                    _named(facts["worktree"]),
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
        path: where it is made.
        words: the options of `git worktree add`, then `--`, the path, and a commit.

    Raises:
        TaskspaceError: git cannot, or the worktree's own settings cannot be written.
    """
    completing = await git.completing()
    await completing.ask("worktree", "add", "--quiet", *words, patience=_ADD_PATIENCE)
    try:
        admin = await asyncio.to_thread(_link_to_clone, path)
    except OSError as error:
        raise TaskspaceError(f"{path}/.git cannot be written: {error.strerror}", "") from error
    for key, value in await git.of_worktree():
        # A clone with a sparse checkout: what git would copy of its configuration.
        await git.ask("config", "--file", str(admin / "config.worktree"), key, value or "true")


def _link_to_clone(path: Path) -> Path:
    """Name the clone in the worktree's `.git`, not the directory that stands for it."""
    link = path / ".git"
    admin = Path(os.fsdecode(link.read_bytes()).removeprefix("gitdir: ").rstrip("\n")).resolve()
    write_whole(link, os.fsencode(f"gitdir: {admin}\n"))
    return admin


@dataclass(frozen=True, slots=True)
class BaseBranch:
    """What new work starts from.

    Attributes:
        ref: full, as in `refs/remotes/origin/main`.
        branch: its short name, without the remote.
        remote: None for a branch that is only here.
    """

    ref: str
    branch: str
    remote: str | None


async def find_base(git: Git, wanted: str | None) -> BaseBranch:
    """The base branch: the one wanted, else the remote's own, else a usual name, else HEAD's.

    Raises:
        TaskspaceError: the repository has no commit, or the wanted branch is not there.
    """
    remotes = (await git.text("remote")).split()
    remote = "origin" if "origin" in remotes else next(iter(remotes), None)
    if wanted:
        if found := await _first(git, remote, [wanted]):
            return found
        raise AbsentError(f"there is no branch {wanted!r}", "name one that git branch -a lists")
    # Few repositories have none of the usual names: only then git is asked for more.
    found = await _first(git, remote, await _usual(git, remote))
    found = found or await _first(git, remote, await _at_hand(git))
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


async def _usual(git: Git, remote: str | None) -> list[str]:
    names = ["main", "master", "develop"]
    if remote and (head := await git.maybe("symbolic-ref", "-q", f"refs/remotes/{remote}/HEAD")):
        names.insert(0, head.removeprefix(f"refs/remotes/{remote}/"))
    return names


async def _at_hand(git: Git) -> list[str]:
    names: list[str] = []
    if current := await git.maybe("symbolic-ref", "-q", "--short", "HEAD"):
        names.append(current)
    if first := await git.maybe("for-each-ref", "--count=1", "--format=%(refname)", "refs/heads"):
        names.append(first.removeprefix("refs/heads/"))
    return names


async def _exists(git: Git, ref: str) -> bool:
    return await git.maybe("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}") is not None


async def commit_of(git: Git, name: str) -> str | None:
    """The id of the commit that a name means; None if it means none."""
    return await git.maybe(
        "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
    )

"""Checks of the files of a worktree before a deletion: uncommitted, ignored, and nested work."""

import asyncio
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from localio.git import Git
from symposium.config.git import git_at
from symposium.tasks.deletion.safety_report import Finding, Risk, Unknown
from symposium.tasks.model import NotSafeError
from symposium.tasks.snapshots.exclusions import is_rebuilt
from symposium.tasks.worktree_status import WorkTreeStatus, status_of

_MAX_ENTRIES: Final = 2_000_000
"""Maximum number of files and folders that are checked."""


def repositories_in(worktree: Path, folders: Iterable[str]) -> list[str]:
    """Repositories in these folders, at any depth, as paths in the worktree.

    Raises:
        NotSafeError: there is too much to look at.
    """
    found: list[str] = []
    left = _MAX_ENTRIES
    for folder in folders:
        for place, inner, files in os.walk(worktree / folder):
            left -= len(inner) + len(files)
            if left < 0:
                reason = f"{worktree / folder} has more files than can be looked at"
                raise NotSafeError(reason, "move away what you do not need")
            if ".git" in inner or ".git" in files:
                found.append(os.path.relpath(place, worktree))
                inner[:] = [name for name in inner if name != ".git"]
    return found


def all_of(worktree: Path, repository: str) -> list[str]:
    """All files and folders of a repository inside, its history too; git needs empty ones."""
    found: list[str] = []
    for place, _, files in os.walk(worktree / repository):
        here = os.path.relpath(place, worktree)
        found += [here, *(f"{here}/{name}" for name in files)]
    return found


_SAMPLES: Final = 10
_MAX_WALKED: Final = 20000


def of_status(status: WorkTreeStatus) -> list[Finding]:
    """Findings of a status, without ignored files."""
    found: list[Finding] = []
    if status.changed:
        found.append(_finding(Risk.UNCOMMITTED, status.changed, "uncommitted changes in {} {}"))
    if status.untracked:
        found.append(_finding(Risk.UNTRACKED, status.untracked, "{} untracked {}"))
    if status.conflicts:
        found.append(_finding(Risk.OPERATION, status.conflicts, "{} {} in conflict"))
    return found


def _finding(risk: Risk, names: tuple[str, ...], text: str) -> Finding:
    files = "file" if len(names) == 1 else "files"
    return Finding(risk, len(names), text.format(len(names), files), names[:_SAMPLES])


def kept_ignored(worktree: Path, ignored: tuple[str, ...]) -> Iterator[str]:
    """Files that git ignores and no build makes again, as paths in the worktree."""
    walked = 0
    for name in ignored:
        if _is_rebuilt(worktree, name):
            continue
        if not name.endswith("/"):
            yield name
            continue
        for place, folders, files in os.walk(worktree / name):
            here = os.path.relpath(place, worktree)
            folders[:] = [each for each in folders if not _is_rebuilt(worktree, here, each)]
            for file in files:
                walked += 1
                if walked > _MAX_WALKED:
                    raise OSError(0, f"more than {_MAX_WALKED} ignored files", str(worktree / name))
                if not _is_rebuilt(worktree, here, file):
                    yield str((Path(place) / file).relative_to(worktree))


def _is_rebuilt(worktree: Path, *names: str) -> bool:
    """Whether a build recreates this name, judged by the other files of the worktree."""
    place = worktree
    for part in Path(*names).parts:
        if is_rebuilt(place, part):
            return True
        place /= part
    return False


def of_ignored(worktree: Path, ignored: tuple[str, ...]) -> list[Finding]:
    """Ignored files that may be work, with their size.

    Raises:
        OSError: there are too many.
    """
    found: list[Finding] = []
    if names := tuple(kept_ignored(worktree, ignored)):
        size = sum((worktree / name).lstat().st_size for name in names)
        files = "file" if len(names) == 1 else "files"
        detail = f"{len(names)} ignored {files} that no build recreates, {size} bytes"
        found.append(Finding(Risk.IGNORED, len(names), detail, names[:_SAMPLES]))
    if built := tuple(name for name in ignored if _is_rebuilt(worktree, name)):
        detail = f"not archived, because a build recreates it: {', '.join(built[:_SAMPLES])}"
        found.append(Finding(Risk.REBUILT, len(built), detail, built[:_SAMPLES]))
    return found


async def hidden_files(git: Git) -> list[Unknown]:
    """Files that git is configured to skip: it cannot report changes in them.

    Raises:
        TaskspaceError: git cannot say.
    """
    listed = await git.ask("ls-files", "-v", "-z")
    hidden = [name[2:] for name in listed.names if name[:1].islower() or name[:1] == "S"]
    if not hidden:
        return []
    reason = f"git is configured to skip {len(hidden)} files, as {hidden[0]!r}"
    return [Unknown(Risk.UNCOMMITTED, reason)]


async def of_repositories(git: Git, worktree: Path) -> list[Finding | Unknown]:
    """Work in submodules and in other repositories inside, also in ignored folders.

    Raises:
        TaskspaceError: git cannot say.
    """
    listed = await git.ask("ls-files", "-s", "-z")
    names = [entry.partition("\t")[2] for entry in listed.names if entry.startswith("160000 ")]
    untracked = await git.ask("ls-files", "-o", "--directory", "--exclude-standard", "-z")
    ignored = (await status_of(git)).ignored
    folders = [name.rstrip("/") for name in (*untracked.names, *ignored) if name.endswith("/")]
    names += await asyncio.to_thread(repositories_in, worktree, folders)
    found: list[Finding | Unknown] = []
    for name in sorted(set(names)):
        if _is_repository(worktree / name):
            found += await of_repository(worktree / name, name)
    return found


def _is_repository(directory: Path) -> bool:
    return os.path.lexists(directory / ".git")


async def of_repository(directory: Path, name: str) -> list[Finding | Unknown]:
    """Work in a repository that is nowhere else; empty if there is no such work.

    Raises:
        TaskspaceError: git cannot say.
    """
    git = git_at(directory)
    status = await status_of(git)
    ahead = await git.run("rev-list", "--count", "--all", "--not", "--remotes")
    if ahead.code:
        return [Unknown(Risk.SUBMODULE, f"{name}: {ahead.said}")]
    changes = len(status.changed) + len(status.untracked) + len(status.conflicts)
    commits = int(ahead.text or 0)
    if not changes and not commits:
        return []
    detail = f"the repository {name} inside has {changes} changes and {commits} unpushed commits"
    return [Finding(Risk.SUBMODULE, changes + commits, detail, (name,))]

"""What stands in a worktree that no commit holds."""

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from symposium.git.program import Git
from symposium.taskspaces.deletion.inside import repositories_in
from symposium.taskspaces.deletion.report import Finding, Risk, Unknown
from symposium.taskspaces.snapshots.kept import is_rebuilt

_SAMPLES: Final = 10
_MOST_WALKED: Final = 20000


@dataclass(frozen=True, slots=True)
class WorkTreeStatus:
    """What `git status` says of a worktree, by kind.

    Attributes:
        ignored: files and folders that git ignores.
        conflicts: paths in conflict.
    """

    changed: tuple[str, ...]
    untracked: tuple[str, ...]
    ignored: tuple[str, ...]
    conflicts: tuple[str, ...]


async def status_of(git: Git) -> WorkTreeStatus:
    """Look, touching nothing.

    Raises:
        TaskspaceError: git cannot say.
    """
    listed = await git.ask(
        *("status", "--porcelain=v2", "-z", "--untracked-files=all"),
        *("--ignored=matching", "--ignore-submodules=all", "--no-renames"),
    )
    kinds: dict[str, list[str]] = {"1": [], "?": [], "!": [], "u": []}
    for entry in listed.names:
        kind = entry[:1]
        fields = {"1": 8, "u": 10}.get(kind, 1)
        if kind in kinds:
            kinds[kind].append(entry.split(" ", fields)[-1])
    return WorkTreeStatus(*(tuple(kinds[kind]) for kind in "1?!u"))


def of_status(status: WorkTreeStatus) -> list[Finding]:
    """What of it would be lost, but for ignored files."""
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
                if walked > _MOST_WALKED:
                    raise OSError(
                        0, f"more than {_MOST_WALKED} ignored files", str(worktree / name)
                    )
                if not _is_rebuilt(worktree, here, file):
                    yield str((Path(place) / file).relative_to(worktree))


def _is_rebuilt(worktree: Path, *names: str) -> bool:
    """Whether a build makes this again, of what stands in the worktree under these names."""
    place = worktree
    for part in Path(*names).parts:
        if is_rebuilt(place, part):
            return True
        place /= part
    return False


def of_ignored(worktree: Path, ignored: tuple[str, ...]) -> list[Finding]:
    """What ignored files may be work, with their size.

    Raises:
        OSError: there are too many to say.
    """
    found: list[Finding] = []
    if names := tuple(kept_ignored(worktree, ignored)):
        size = sum((worktree / name).lstat().st_size for name in names)
        detail = f"{len(names)} ignored files that no build makes again, {size} bytes"
        found.append(Finding(Risk.IGNORED, len(names), detail, names[:_SAMPLES]))
    if built := tuple(name for name in ignored if _is_rebuilt(worktree, name)):
        detail = f"not kept, for a build makes it again: {', '.join(built[:_SAMPLES])}"
        found.append(Finding(Risk.REBUILT, len(built), detail, built[:_SAMPLES]))
    return found


async def hidden_files(git: Git) -> list[Unknown]:
    """Files that git was told to pass by: it cannot say whether they have changed.

    Raises:
        TaskspaceError: git cannot say.
    """
    listed = await git.ask("ls-files", "-v", "-z")
    hidden = [name[2:] for name in listed.names if name[:1].islower() or name[:1] == "S"]
    if not hidden:
        return []
    reason = f"git was told to pass by {len(hidden)} files, as {hidden[0]!r}"
    return [Unknown(Risk.UNCOMMITTED, reason)]


async def of_repositories(git: Git, worktree: Path) -> list[Finding | Unknown]:
    """What stands in submodules and in other repositories inside, also in ignored folders.

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
    """What a repository has that is nowhere else; nothing if all of it is.

    Raises:
        TaskspaceError: git cannot say.
    """
    git = Git(directory)
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

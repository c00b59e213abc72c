"""Find the git directories of a folder as git does, without starting git.

Git reads the clone's configuration while it looks for the clone, so Symposium looks by itself.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_MAX_POINTER: Final = 8192
"""Bytes that are read of a file that names a directory (`.git`, `commondir`)."""


@dataclass(frozen=True, slots=True)
class GitDirectories:
    """Where a clone, or one of its worktrees, keeps what git needs.

    Attributes:
        git_dir: private to the worktree: `HEAD`, the index.
        common: shared by all worktrees: objects, refs, the configuration.
        worktree: the top of the checkout; None in a bare repository and inside a git directory.
    """

    git_dir: Path
    common: Path
    worktree: Path | None

    @property
    def main_checkout(self) -> Path:
        """The clone's own checkout; the shared directory itself where there is none."""
        return self.common.parent if self.common.name == ".git" else self.common


def find_git_directories(folder: Path) -> GitDirectories | None:
    """The clone that a folder is in, found upwards on one file system; None if there is none."""
    try:
        start = folder.resolve(strict=True)
        device = start.stat().st_dev
        for place in (start, *start.parents):
            if place.stat().st_dev != device:
                return None
            found = _at(place)
            if found is not None:
                return found
    except (OSError, RuntimeError, ValueError):
        return None
    return None


def git_directories_at(git_dir: Path) -> GitDirectories | None:
    """The clone of a git directory that is known; None if it is none."""
    try:
        return _git_directory(git_dir.resolve(strict=True), None)
    except (OSError, RuntimeError, ValueError):
        return None


def repository_at(path: Path) -> GitDirectories | None:
    """The repository that a path to fetch from names (gitrepository-layout(5)); None if none."""
    try:
        places = [path, path.with_name(f"{path.name}.git")] if path.name else [path]
        return next(filter(None, (_at(place) for place in places if place.is_dir())), None)
    except (OSError, RuntimeError, ValueError):
        return None


def _at(place: Path) -> GitDirectories | None:
    inner = place / ".git"
    if inner.is_file():
        named = _pointer(inner, "gitdir: ")
        return None if named is None else _git_directory((place / named).resolve(), place)
    if inner.is_dir() and (found := _git_directory(inner.resolve(), place)) is not None:
        return found
    return _git_directory(place, None)


def _git_directory(git_dir: Path, worktree: Path | None) -> GitDirectories | None:
    if not os.path.lexists(git_dir / "HEAD"):
        return None
    named = _pointer(git_dir / "commondir", "")
    common = git_dir if named is None else (git_dir / named).resolve()
    if not ((common / "objects").is_dir() and (common / "refs").is_dir()):
        return None
    return GitDirectories(git_dir, common, worktree)


def _pointer(file: Path, prefix: str) -> str | None:
    try:
        if not file.is_file():
            return None
        with file.open("rb") as opened:
            text = os.fsdecode(opened.read(_MAX_POINTER)).rstrip("\r\n")
    except OSError:
        return None
    return text.removeprefix(prefix) if text.startswith(prefix) else None

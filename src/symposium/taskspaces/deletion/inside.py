"""Repositories inside a worktree, wherever they stand: git looks into none that it ignores."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from symposium.taskspaces.failures import NotSafeError

_MOST: Final = 2_000_000
"""Files and folders that are looked at."""


def repositories_in(worktree: Path, folders: Iterable[str]) -> list[str]:
    """Those in these folders, at any depth, as paths in the worktree.

    Raises:
        NotSafeError: there is too much to look at.
    """
    found: list[str] = []
    left = _MOST
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

"""Git as Symposium runs it: where its stand-ins are, and the refs that no fetch sees."""

from pathlib import Path
from typing import Final

from localio.git import Git
from localio.git_isolation import StandIns
from symposium.config.paths import paths

OWN_REFS: Final = "refs/symposium/"
"""Refs that Symposium has made in clones."""


def stand_ins() -> StandIns:
    """Directories in the user's cache that git reads in place of clones' configuration."""
    return StandIns(paths().cache / "git", OWN_REFS)


def git_at(directory: Path) -> Git:
    """Git in a directory of a clone."""
    return Git(directory, stand_ins())


def git_of(common: Path) -> Git:
    """Git for a clone's shared directory, wherever its worktrees are."""
    return Git(common, stand_ins(), {"GIT_DIR": str(common)})

"""Whether what a taskspace has is what has landed, or there is something new in it since."""

from pathlib import Path
from typing import Final

from symposium.git.program import Git, GitRunError
from symposium.taskspaces.failures import TaskspaceError
from symposium.taskspaces.model import Taskspace

_STATUS: Final = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal")
_QUICK: Final = ("--ignore-submodules=all", "--no-renames", "--no-ahead-behind")


async def is_landed(taskspace: Taskspace) -> bool:
    """Whether all of it has landed: its newest commit is that one, and nothing is uncommitted.

    What cannot be looked at has not.
    """
    if not taskspace.landed:
        return False
    try:
        git = Git(Path(taskspace.worktree))
        seen = await git.run(*_STATUS, *_QUICK)
    except (GitRunError, TaskspaceError):
        return False
    about = [each for each in seen.names if each.startswith("# ")]
    return f"# branch.oid {taskspace.landed}" in about and len(about) == len(seen.names)

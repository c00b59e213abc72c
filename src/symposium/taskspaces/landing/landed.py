"""Whether what a taskspace has is what has landed, or there is something new in it since."""

from pathlib import Path
from typing import Final

from symposium.taskspaces.failures import TaskspaceError
from symposium.taskspaces.git.neutral import neutral
from symposium.taskspaces.git.program import Git
from symposium.taskspaces.model import Taskspace

_QUICK: Final = ("--untracked-files=normal", "--ignore-submodules=all", "--no-renames")


async def is_landed(taskspace: Taskspace) -> bool:
    """Whether all of it has landed: its newest commit is that one, and nothing is uncommitted.

    What cannot be looked at has not.
    """
    if not taskspace.landed:
        return False
    try:
        git = await neutral(Git(Path(taskspace.worktree)))
        if await git.maybe("rev-parse", "--verify", "--quiet", "HEAD") != taskspace.landed:
            return False
        seen = await git.run("status", "--porcelain", "-z", *_QUICK)
    except TaskspaceError:
        return False
    return not seen.code and not seen.out

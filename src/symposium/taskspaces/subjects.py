"""What of a taskspace is snapshotted."""

from pathlib import Path

from localio.errors import ExplainedError
from symposium.taskspaces.git.repository import Repository
from symposium.taskspaces.ground import Ground, project_of
from symposium.taskspaces.model import Taskspace
from symposium.taskspaces.snapshots.subject import Subject


def subject_of(ground: Ground, taskspace: Taskspace, repository: Repository) -> Subject:
    """The worktree of a taskspace, and the shadow that looks at it."""
    shadow = ground.state / "shadow" / taskspace.id
    worktree = Path(taskspace.worktree)
    return Subject(taskspace.id, worktree, repository.common, shadow, ground.precious)


def subject_without_clone(ground: Ground, taskspace: Taskspace) -> Subject | None:
    """The same where git cannot read the clone; None where there is no store of it."""
    place = project_of(taskspace).repository
    common = place if place.name == ".git" else place / ".git"
    shadow = ground.state / "shadow" / taskspace.id
    worktree = Path(taskspace.worktree)
    subject = Subject(taskspace.id, worktree, common, shadow, ground.precious)
    return subject if subject.store.is_dir() else None


async def keep(ground: Ground, taskspace: Taskspace, repository: Repository, reason: str) -> str:
    """Snapshot a taskspace whose state changes; why that could not be, else nothing.

    What is being done goes on all the same: it is told.
    """
    try:
        await ground.snapshots.take(subject_of(ground, taskspace, repository), reason)
    except ExplainedError as error:
        return f"its state could not be kept: {error.message}"
    return ""

"""What of a taskspace is snapshotted."""

from pathlib import Path

from symposium.taskspaces.git.repository import Repository
from symposium.taskspaces.ground import Ground
from symposium.taskspaces.model import Taskspace
from symposium.taskspaces.snapshots.subject import Subject


def subject_of(ground: Ground, taskspace: Taskspace, repository: Repository) -> Subject:
    """The worktree of a taskspace, and the shadow that looks at it."""
    shadow = ground.state / "shadow" / taskspace.id
    worktree = Path(taskspace.worktree)
    return Subject(taskspace.id, worktree, repository.common, shadow, ground.precious)

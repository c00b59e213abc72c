"""What goes wrong with taskspaces, said to people.

TaskspaceError            a taskspace cannot be made, found, changed or removed
├── UnknownTaskspaceError no taskspace is called that
├── AbsentError           a clone, a directory or a branch is not there
├── RefusedNameError      a name, a path or an id cannot be taken as it is
├── LimitError            a child would be more than its parent may spawn
├── StageError            a step of making, removing or landing one failed; carries what was done
└── NotSafeError          a deletion would lose work that nobody agreed to lose
"""

from collections.abc import Sequence

from localio.errors import ExplainedError
from symposium.errors import BadValueError, NotFoundError, SymposiumError


class TaskspaceError(SymposiumError):
    """A taskspace cannot be made, found, changed or removed."""


class UnknownTaskspaceError(TaskspaceError, NotFoundError):
    """No taskspace is called that."""


class AbsentError(TaskspaceError, NotFoundError):
    """A clone, a directory or a branch that was named is not there."""


class RefusedNameError(TaskspaceError, BadValueError):
    """A name, a path or an id cannot be taken as it is."""


class LimitError(TaskspaceError):
    """A child would be more than its parent may spawn."""


class NotSafeError(TaskspaceError):
    """A deletion would lose work that nobody agreed to lose."""


class StageError(TaskspaceError):
    """A step failed; what was done before it has been undone, or waits for a retry.

    Attributes:
        stage: the one that failed, as in `create.worktree`.
        completed: those that were done before it.
    """

    def __init__(self, stage: str, completed: Sequence[str], reason: Exception) -> None:
        self.stage = stage
        self.completed = tuple(completed)
        hint = reason.hint if isinstance(reason, ExplainedError) else ""
        said = reason.message if isinstance(reason, ExplainedError) else str(reason)
        super().__init__(f"{stage} failed: {said}", hint)

"""`get_taskspace_state`: the seed's name for reading `taskspace_state` (bus §1.11, row 1)."""

from typing import ClassVar

from symposium.bus.messages.taskspace_state import TaskspaceInfo, TaskspaceState
from symposium.bus.roles import AGENTS, PEOPLE, Role
from symposium.bus.vocabulary import About, Request, Target


class GetTaskspaceState(Request[TaskspaceInfo], frozen=True, kw_only=True):
    """Read a taskspace; whoever answers `taskspace_state` is asked."""

    about: ClassVar = About(
        "get_taskspace_state",
        sent_by=AGENTS | PEOPLE | {Role.LEGACY},
        target=Target.ENGINE,
        budget=30.0,
        is_idempotent=True,
        source="seed 001",
        stands_for="taskspace_state",
    )
    taskspace_uuid: str
    project_path: str = ""

    def canonical(self) -> TaskspaceState:
        """The same question under the name that is emitted."""
        return TaskspaceState(project_path=self.project_path, taskspace_uuid=self.taskspace_uuid)

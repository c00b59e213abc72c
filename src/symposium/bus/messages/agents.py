"""Messages of agents: spawn, state, progress, signal, finish, wait, budget."""

from enum import Enum
from typing import ClassVar, Final

from msgspec import Struct

from symposium.bus.protocol import (
    AGENTS,
    USER_ROLES,
    Ack,
    BusReply,
    BusRequest,
    MessageSpec,
    MessageTarget,
    Role,
)


class Spawned(BusReply, frozen=True, rename="camel"):
    """The uuid of the new taskspace."""

    new_taskspace_uuid: str


class SpawnTaskspace(BusRequest[Spawned], frozen=True, kw_only=True):
    """Make a new taskspace with an agent of its own.

    Attributes:
        project_path: the project.
        taskspace_uuid: the taskspace that asks, which becomes its parent.
        name, task_description: what people see.
        initial_prompt: what its agent is told first.
        collaborator: which manner its agent has.
        agent: the id of an agent that is here; the parent's if not given.
    """

    about: ClassVar = MessageSpec(
        "spawn_taskspace",
        sent_by=AGENTS | USER_ROLES,
        target=MessageTarget.ENGINE,
        budget=900.0,
        source="bus §1.10; §1.11, row 5",
    )
    project_path: str
    taskspace_uuid: str
    name: str
    task_description: str
    initial_prompt: str
    collaborator: str | None = None
    agent: str | None = None


class TaskspaceInfo(BusReply, frozen=True):
    """What a taskspace is; `initial_prompt` is null once its agent has made it its own."""

    name: str | None = None
    description: str | None = None
    initial_prompt: str | None = None
    agent_command: tuple[str, ...] = ()
    collaborator: str | None = None


class TaskspaceState(BusRequest[TaskspaceInfo], frozen=True, kw_only=True):
    """Read a taskspace; members that are given and not null are changed first.

    Attributes:
        project_path: may be empty: the uuid is enough.
        taskspace_uuid: compared without regard to case.
        name, description, collaborator: the new value; null leaves it.
    """

    about: ClassVar = MessageSpec(
        "taskspace_state",
        sent_by=AGENTS | USER_ROLES | {Role.LEGACY},
        target=MessageTarget.ENGINE,
        budget=30.0,
        is_idempotent=True,
        source="bus §1.10, §3.4",
    )
    project_path: str
    taskspace_uuid: str
    name: str | None = None
    description: str | None = None
    collaborator: str | None = None


class GetTaskspaceState(BusRequest[TaskspaceInfo], frozen=True, kw_only=True):
    """Read a taskspace; whoever answers `taskspace_state` is asked."""

    about: ClassVar = MessageSpec(
        "get_taskspace_state",
        sent_by=AGENTS | USER_ROLES | {Role.LEGACY},
        target=MessageTarget.ENGINE,
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


class UpdateTaskspace(BusRequest[Ack], frozen=True, kw_only=True):
    """Name and describe a taskspace; that it was done clears its initial prompt."""

    about: ClassVar = MessageSpec(
        "update_taskspace",
        sent_by=AGENTS | USER_ROLES | {Role.LEGACY},
        target=MessageTarget.ENGINE,
        budget=10.0,
        is_idempotent=True,
        source="seed 001",
    )
    project_path: str
    taskspace_uuid: str
    name: str
    description: str
    collaborator: str | None = None


class FinishTaskspace(BusRequest[Ack], frozen=True, kw_only=True):
    """Note what was achieved; whoever waits for the taskspace goes on.

    Attributes:
        result: what was achieved, for whoever asked for it.
        evidence: a commit, a test or a file that proves it.
    """

    about: ClassVar = MessageSpec(
        "finish_taskspace",
        sent_by=USER_ROLES | AGENTS,
        target=MessageTarget.ENGINE,
        budget=10.0,
        is_idempotent=True,
        version=2,
        source="users B-13",
    )
    project_path: str
    taskspace_uuid: str
    result: str
    evidence: str = ""


class TaskResult(Struct, frozen=True):
    """What a taskspace has left behind.

    Attributes:
        standing: `finished`, or `archived` where somebody has deleted it.
        result: what its agent says it has achieved; None where it has said nothing.
        evidence: what proves it.
    """

    taskspace_uuid: str
    name: str
    branch: str
    standing: str
    result: str | None = None
    evidence: str = ""


class Ended(BusReply, frozen=True):
    """All that were waited for, as asked."""

    results: tuple[TaskResult, ...]


class WaitForTaskspaces(BusRequest[Ended], frozen=True, kw_only=True):
    """Answered when every one of them has ended, however long that takes."""

    about: ClassVar = MessageSpec(
        "wait_for_taskspaces",
        sent_by=AGENTS,
        target=MessageTarget.ENGINE,
        budget=86400.0,
        is_idempotent=True,
        version=2,
        source="users B-13",
    )
    project_path: str
    taskspace_uuid: str
    children: tuple[str, ...]


class BudgetChecked(BusReply, frozen=True):
    """How far the budget is spent, of the taskspace or of one that it descends from."""

    is_over: bool
    text: str


class CheckBudget(BusRequest[BudgetChecked], frozen=True, kw_only=True):
    """Add up what a taskspace and those around it have spent; at 80 % its log says so."""

    about: ClassVar = MessageSpec(
        "check_budget",
        sent_by=USER_ROLES | AGENTS,
        target=MessageTarget.ENGINE,
        budget=10.0,
        is_idempotent=True,
        version=2,
        source="users B-12",
    )
    taskspace_uuid: str


class GuidanceRead(BusRequest[Ack], frozen=True, kw_only=True):
    """Note which guidance an agent has read; `show_taskspace` lists it.

    Attributes:
        project_path, taskspace_uuid: of which taskspace.
        id: the file name of the text, or the name of a prompt.
        layer: who wrote it: project, team, user, or built-in; empty for a prompt.
        sha256: the hash of what was read.
    """

    about: ClassVar = MessageSpec(
        "guidance_read",
        sent_by=AGENTS,
        target=MessageTarget.ENGINE,
        budget=5.0,
        is_idempotent=True,
        version=2,
        source="seed 000 L182; issue part 4, 6",
    )
    project_path: str
    taskspace_uuid: str
    id: str
    layer: str
    sha256: str


class Decided(BusReply, frozen=True):
    """What was decided: `deleted`, `archived`, `cancelled`, `expired` or `pending`."""

    outcome: str = "deleted"


class DeleteTaskspace(BusRequest[Decided], frozen=True, kw_only=True):
    """Ask for a taskspace to be deleted; answered when a person has decided, with news meanwhile.

    A refusal is an error with the text "Taskspace deletion was cancelled by user".
    """

    about: ClassVar = MessageSpec(
        "delete_taskspace",
        sent_by=AGENTS | USER_ROLES,
        target=MessageTarget.ENGINE,
        budget=86400.0,
        source="bus §3.7; §1.11, row 5",
    )
    project_path: str
    taskspace_uuid: str


class Recorded(BusReply, frozen=True):
    """What became of a report: it is kept, and so many views are there to show it."""

    watchers: int = 0


class ProgressCategory(Enum):
    """How a line of progress is shown; any unknown word counts as `info`."""

    INFO = "info"
    WARN = "warn"
    ERROR = "error"
    MILESTONE = "milestone"
    QUESTION = "question"

    @classmethod
    def _missing_(cls, value: object) -> "ProgressCategory":
        word = str(value).strip().lower()
        return next((each for each in cls if word in {each.value, *SIGNS[each]}), cls.INFO)


SIGNS: Final = {
    ProgressCategory.INFO: ("\u2139\ufe0f", "\u2139"),
    ProgressCategory.WARN: ("\u26a0\ufe0f", "\u26a0"),
    ProgressCategory.ERROR: ("\u274c",),
    ProgressCategory.MILESTONE: ("\u2705",),
    ProgressCategory.QUESTION: ("\u2753",),
}
"""The signs an agent may write for a category instead of its word."""


class LogProgress(BusRequest[Recorded], frozen=True, kw_only=True, omit_defaults=False):
    """Keep a line of progress for whoever looks at the taskspace.

    Attributes:
        project_path, taskspace_uuid: of which taskspace.
        message: the line.
        category: how it is shown; words and their signs are both read.
    """

    about: ClassVar = MessageSpec(
        "log_progress",
        sent_by=AGENTS | USER_ROLES | {Role.LEGACY},
        target=MessageTarget.ENGINE,
        budget=2.0,
        source="bus §3.6; §1.11, row 6",
        is_public=True,
    )
    project_path: str
    taskspace_uuid: str
    message: str
    category: ProgressCategory = ProgressCategory.INFO


class SignalUser(BusRequest[Recorded], frozen=True, kw_only=True):
    """Ask for the user's attention; the reply says whether anybody watches."""

    about: ClassVar = MessageSpec(
        "signal_user",
        sent_by=AGENTS | USER_ROLES | {Role.LEGACY},
        target=MessageTarget.ENGINE,
        budget=2.0,
        source="bus §3.6; §1.11, row 6",
        is_public=True,
    )
    project_path: str
    taskspace_uuid: str
    message: str

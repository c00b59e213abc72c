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
    """UUID of the new taskspace."""

    new_taskspace_uuid: str


class SpawnTaskspace(BusRequest[Spawned], frozen=True, kw_only=True):
    """Create a taskspace with its own agent.

    Attributes:
        project_path: path of the project.
        taskspace_uuid: sender's taskspace, which becomes the parent.
        name, task_description: shown to the user.
        initial_prompt: first prompt of the agent.
        collaborator: name of the agent's collaboration style.
        agent: id of an available agent; default: the parent's agent.
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
    """Properties of a taskspace; `initial_prompt` is null once its agent has read it."""

    name: str | None = None
    description: str | None = None
    initial_prompt: str | None = None
    agent_command: tuple[str, ...] = ()
    collaborator: str | None = None


class TaskspaceState(BusRequest[TaskspaceInfo], frozen=True, kw_only=True):
    """Read a taskspace; members that are not null change it first.

    Attributes:
        project_path: may be empty; the UUID is sufficient.
        taskspace_uuid: UUID of the taskspace, case-insensitive.
        name, description, collaborator: new value; null keeps the current one.
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
    """Read a taskspace; forwarded as `taskspace_state`."""

    about: ClassVar = MessageSpec(
        "get_taskspace_state",
        sent_by=AGENTS | USER_ROLES | {Role.LEGACY},
        target=MessageTarget.ENGINE,
        budget=30.0,
        is_idempotent=True,
        source="seed 001",
        alias_of="taskspace_state",
    )
    taskspace_uuid: str
    project_path: str = ""

    def canonical(self) -> TaskspaceState:
        """The same request as `taskspace_state`."""
        return TaskspaceState(project_path=self.project_path, taskspace_uuid=self.taskspace_uuid)


class UpdateTaskspace(BusRequest[Ack], frozen=True, kw_only=True):
    """Set name and description of a taskspace; success clears its initial prompt."""

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
    """Record the result of a taskspace, and answer the requests that wait for it.

    Attributes:
        result: achievements, for the requester of the work.
        evidence: commit, test, or file that proves the result.
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
    """Result of a taskspace.

    Attributes:
        standing: `finished`, or `archived` after a deletion.
        result: achievements according to its agent; None if it reported none.
        evidence: proof of the result.
    """

    taskspace_uuid: str
    name: str
    branch: str
    standing: str
    result: str | None = None
    evidence: str = ""


class Ended(BusReply, frozen=True):
    """Results of the awaited taskspaces, in the order of the request."""

    results: tuple[TaskResult, ...]


class WaitForTaskspaces(BusRequest[Ended], frozen=True, kw_only=True):
    """Wait without a time limit until all of these taskspaces end."""

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
    """Spent fraction of the budget, of the taskspace or of an ancestor."""

    is_over: bool
    text: str


class CheckBudget(BusRequest[BudgetChecked], frozen=True, kw_only=True):
    """Add up the spending of a taskspace and its relatives; at 80%, add a line to its log."""

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
    """Record which guidance an agent has read; `show_taskspace` lists it.

    Attributes:
        project_path, taskspace_uuid: taskspace of the agent.
        id: file name of the text, or name of a prompt.
        layer: origin: project, team, user, or built-in; empty for a prompt.
        sha256: hash of the text.
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
    """The decision: `deleted`, `archived`, `cancelled`, `expired`, or `pending`."""

    outcome: str = "deleted"


class DeleteTaskspace(BusRequest[Decided], frozen=True, kw_only=True):
    """Ask the user to delete a taskspace; sends progress until the decision.

    If the user rejects it, the error is "Taskspace deletion was cancelled by user".
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
    """Confirmation of a stored report, with the number of views that show it."""

    watchers: int = 0


class ProgressCategory(Enum):
    """Category of a line of progress; unknown words count as `info`."""

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
"""Emoji that agents may send in place of a category's word."""


class LogProgress(BusRequest[Recorded], frozen=True, kw_only=True, omit_defaults=False):
    """Add a line of progress to the log of a taskspace.

    Attributes:
        project_path, taskspace_uuid: taskspace of the agent.
        message: the line.
        category: a category or its emoji.
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
    """Ask for the user's attention; the reply says whether a view is open."""

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

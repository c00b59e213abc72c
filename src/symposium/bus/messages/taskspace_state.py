"""`taskspace_state`: read a taskspace, and change what is given."""

from typing import ClassVar

from symposium.bus.roles import AGENTS, PEOPLE, Role
from symposium.bus.vocabulary import About, Reply, Request, Target


class TaskspaceInfo(Reply, frozen=True):
    """What a taskspace is; `initial_prompt` is null once its agent has made it its own."""

    name: str | None = None
    description: str | None = None
    initial_prompt: str | None = None
    agent_command: tuple[str, ...] = ()
    collaborator: str | None = None


class TaskspaceState(Request[TaskspaceInfo], frozen=True, kw_only=True):
    """Read a taskspace; members that are given and not null are changed first.

    Attributes:
        project_path: may be empty: the uuid is enough.
        taskspace_uuid: compared without regard to case.
        name, description, collaborator: the new value; null leaves it.
    """

    about: ClassVar = About(
        "taskspace_state",
        sent_by=AGENTS | PEOPLE | {Role.LEGACY},
        target=Target.ENGINE,
        budget=30.0,
        is_idempotent=True,
        source="bus §1.10, §3.4",
    )
    project_path: str
    taskspace_uuid: str
    name: str | None = None
    description: str | None = None
    collaborator: str | None = None

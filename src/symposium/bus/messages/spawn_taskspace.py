"""`spawn_taskspace`: make a new taskspace."""

from typing import ClassVar

from symposium.bus.roles import AGENTS, PEOPLE
from symposium.bus.vocabulary import About, Reply, Request, Target


class Spawned(Reply, frozen=True, rename="camel"):
    """The uuid of the new taskspace."""

    new_taskspace_uuid: str


class SpawnTaskspace(Request[Spawned], frozen=True, kw_only=True):
    """Make a new taskspace with an agent of its own.

    Attributes:
        project_path: the project.
        taskspace_uuid: the taskspace that asks, which becomes its parent.
        name, task_description: what people see.
        initial_prompt: what its agent is told first.
        collaborator: which manner its agent has.
        agent: the id of an agent that is here; the parent's if not given.
    """

    about: ClassVar = About(
        "spawn_taskspace",
        sent_by=AGENTS | PEOPLE,
        target=Target.ENGINE,
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

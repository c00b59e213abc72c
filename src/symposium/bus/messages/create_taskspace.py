"""`create_taskspace`: make a taskspace for a person."""

from typing import ClassVar

from symposium.bus.roles import PEOPLE
from symposium.bus.task_shapes import TaskView
from symposium.bus.vocabulary import About, Reply, Request, Target


class TaskMade(Reply, frozen=True):
    """The taskspace as it stands now."""

    taskspace: TaskView


class CreateTaskspace(Request[TaskMade], frozen=True, kw_only=True):
    """Make a taskspace; the stages and what the set-up writes come as news.

    Attributes:
        project: a directory in the clone, or of a seed project; absolute.
        name: what it is called; `is_name_locked` keeps agents from changing that.
        task: what its agent is to do first.
        agent: `claude` and the like for a terminal; an id of `symposium agents list`, or a SPEC,
            for an agent that speaks ACP.
        base: the branch to start from; the project's own if not given.
        environment: the socket where the agent's environment is lent; the daemon's if not given.
        budget: what it and all that it spawns may spend, as in `3usd,20min,30turns`;
            `3eur` bounds what is told in that currency.
    """

    about: ClassVar = About(
        "create_taskspace",
        sent_by=PEOPLE,
        target=Target.ENGINE,
        budget=900.0,
        version=2,
        source="issue part 3 §6",
    )
    project: str
    name: str
    task: str | None = None
    description: str = ""
    agent: str | None = None
    base: str | None = None
    collaborator: str | None = None
    ports: int = 5
    is_name_locked: bool = False
    budget: str | None = None
    environment: str | None = None

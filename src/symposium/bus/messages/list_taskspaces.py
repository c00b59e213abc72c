"""`list_taskspaces`: what taskspaces there are."""

from typing import ClassVar

from symposium.bus.roles import AGENTS, PEOPLE
from symposium.bus.task_shapes import TaskView
from symposium.bus.vocabulary import About, Reply, Request, Target


class Tasks(Reply, frozen=True):
    """Those there are, the one last gone to first, archived ones last."""

    taskspaces: tuple[TaskView, ...]


class ListTaskspaces(Request[Tasks], frozen=True, kw_only=True):
    """List the taskspaces, of one project if that is given: its absolute path."""

    about: ClassVar = About(
        "list_taskspaces",
        sent_by=PEOPLE | AGENTS,
        target=Target.ENGINE,
        budget=30.0,
        is_idempotent=True,
        version=2,
        source="issue part 3 §6",
    )
    project: str | None = None

"""`list_taskspaces`: what taskspaces there are."""

from typing import ClassVar

from symposium.bus.roles import AGENTS, PEOPLE
from symposium.bus.task_shapes import TaskView
from symposium.bus.vocabulary import About, Reply, Request, Target


class Tasks(Reply, frozen=True):
    """A page of the list: the taskspace used last first, archived ones last.

    Attributes:
        total: the number of taskspaces on all pages.
    """

    taskspaces: tuple[TaskView, ...]
    total: int = 0


class ListTaskspaces(Request[Tasks], frozen=True, kw_only=True):
    """List the taskspaces, or a page of the list.

    Attributes:
        project: absolute path of a project, to list only its taskspaces.
        after: number of taskspaces to leave out at the start.
        limit: most taskspaces to list. Default: all.
        is_archived: whether archived taskspaces are listed.
        is_urgent_first: whether those with an item in the inbox come first.
    """

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
    after: int = 0
    limit: int | None = None
    is_archived: bool = True
    is_urgent_first: bool = False

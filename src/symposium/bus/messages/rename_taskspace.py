"""`rename_taskspace`: give a taskspace a name that agents leave alone."""

from typing import ClassVar

from symposium.bus.messages.create_taskspace import TaskMade
from symposium.bus.roles import PEOPLE
from symposium.bus.vocabulary import About, Request, Target


class RenameTaskspace(Request[TaskMade], frozen=True, kw_only=True):
    """Rename a taskspace; the name is locked."""

    about: ClassVar = About(
        "rename_taskspace",
        sent_by=PEOPLE,
        target=Target.ENGINE,
        budget=30.0,
        is_idempotent=True,
        version=2,
        source="users B-2",
    )
    taskspace_uuid: str
    name: str

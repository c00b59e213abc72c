"""`taskspace_will_delete`: a taskspace's files are about to go."""

from typing import ClassVar

from symposium.bus.roles import Role
from symposium.bus.vocabulary import About, Announcement, Target


class TaskspaceWillDelete(Announcement, frozen=True, kw_only=True):
    """Let editors close what they have open of a taskspace: its deletion has begun.

    Nothing of it is gone yet, and nobody waits for an answer.
    """

    about: ClassVar = About(
        "taskspace_will_delete",
        sent_by=frozenset({Role.DAEMON}),
        target=Target.EVERYBODY,
        source="bus §1.10",
    )
    taskspace_uuid: str
    project_path: str = ""

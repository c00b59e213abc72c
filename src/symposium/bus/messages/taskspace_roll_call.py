"""`taskspace_roll_call`: whoever shows this taskspace, register again."""

from typing import ClassVar

from symposium.bus.roles import ANYONE, Role
from symposium.bus.vocabulary import About, Announcement, Target


class TaskspaceRollCall(Announcement, frozen=True, kw_only=True):
    """Ask windows to register again.

    Attributes:
        taskspace_uuid: whose windows; every taskspace's if absent, as the seed writes it.
    """

    about: ClassVar = About(
        "taskspace_roll_call",
        sent_by=ANYONE | {Role.LEGACY},
        target=Target.EVERYBODY,
        source="bus §1.10; §1.11, row 3",
    )
    taskspace_uuid: str | None = None

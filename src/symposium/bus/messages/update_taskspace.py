"""`update_taskspace`: give a taskspace a name and a description."""

from typing import ClassVar

from symposium.bus.roles import AGENTS, PEOPLE, Role
from symposium.bus.vocabulary import About, Done, Request, Target


class UpdateTaskspace(Request[Done], frozen=True, kw_only=True):
    """Name and describe a taskspace; that it was done clears its initial prompt."""

    about: ClassVar = About(
        "update_taskspace",
        sent_by=AGENTS | PEOPLE | {Role.LEGACY},
        target=Target.ENGINE,
        budget=10.0,
        is_idempotent=True,
        source="seed 001",
    )
    project_path: str
    taskspace_uuid: str
    name: str
    description: str
    collaborator: str | None = None

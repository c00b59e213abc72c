"""`guidance_read`: an agent of a taskspace has read a text."""

from typing import ClassVar

from symposium.bus.roles import AGENTS
from symposium.bus.vocabulary import About, Done, Request, Target


class GuidanceRead(Request[Done], frozen=True, kw_only=True):
    """Note which guidance an agent has read; `show_taskspace` lists it.

    Attributes:
        project_path, taskspace_uuid: of which taskspace.
        id: the file name of the text, or the name of a prompt.
        layer: who wrote it: project, team, user, or built-in; empty for a prompt.
        sha256: the hash of what was read.
    """

    about: ClassVar = About(
        "guidance_read",
        sent_by=AGENTS,
        target=Target.ENGINE,
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

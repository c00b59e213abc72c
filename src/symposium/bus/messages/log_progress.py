"""`log_progress`: say how far one is."""

from typing import ClassVar

from symposium.bus.roles import AGENTS, PEOPLE, Role
from symposium.bus.shapes import ProgressCategory, Recorded
from symposium.bus.vocabulary import About, Request, Target


class LogProgress(Request[Recorded], frozen=True, kw_only=True, omit_defaults=False):
    """Keep a line of progress for whoever looks at the taskspace.

    Attributes:
        project_path, taskspace_uuid: of which taskspace.
        message: the line.
        category: how it is shown; words and their signs are both read.
    """

    about: ClassVar = About(
        "log_progress",
        sent_by=AGENTS | PEOPLE | {Role.LEGACY},
        target=Target.ENGINE,
        budget=2.0,
        source="bus §3.6; §1.11, row 6",
        is_public=True,
    )
    project_path: str
    taskspace_uuid: str
    message: str
    category: ProgressCategory = ProgressCategory.INFO

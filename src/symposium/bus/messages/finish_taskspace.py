"""`finish_taskspace`: say that the work of a taskspace is done."""

from typing import ClassVar

from symposium.bus.roles import AGENTS, PEOPLE
from symposium.bus.vocabulary import About, Done, Request, Target


class FinishTaskspace(Request[Done], frozen=True, kw_only=True):
    """Note what was achieved; whoever waits for the taskspace goes on.

    Attributes:
        result: what was achieved, for whoever asked for it.
        evidence: a commit, a test or a file that proves it.
    """

    about: ClassVar = About(
        "finish_taskspace",
        sent_by=PEOPLE | AGENTS,
        target=Target.ENGINE,
        budget=10.0,
        is_idempotent=True,
        version=2,
        source="users B-13",
    )
    project_path: str
    taskspace_uuid: str
    result: str
    evidence: str = ""

"""`signal_user`: ask for a person."""

from typing import ClassVar

from symposium.bus.roles import AGENTS, PEOPLE, Role
from symposium.bus.shapes import Recorded
from symposium.bus.vocabulary import About, Request, Target


class SignalUser(Request[Recorded], frozen=True, kw_only=True):
    """Ask for the user's attention; the reply says whether anybody watches."""

    about: ClassVar = About(
        "signal_user",
        sent_by=AGENTS | PEOPLE | {Role.LEGACY},
        target=Target.ENGINE,
        budget=2.0,
        source="bus §3.6; §1.11, row 6",
        is_public=True,
    )
    project_path: str
    taskspace_uuid: str
    message: str

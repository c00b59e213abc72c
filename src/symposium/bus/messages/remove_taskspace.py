"""`remove_taskspace`: delete a taskspace, as a person has decided."""

from typing import ClassVar

from symposium.bus.roles import PEOPLE
from symposium.bus.vocabulary import About, Reply, Request, Target


class Removal(Reply, frozen=True):
    """What was done, in lines for people."""

    lines: tuple[str, ...]


class RemoveTaskspace(Request[Removal], frozen=True, kw_only=True):
    """Delete a taskspace; an archive is made, from which it can be brought back for 14 days.

    Attributes:
        only_if_safe: refuse where something could be lost, or is not known.
        branch: `auto`, `keep` or `drop`: what becomes of its branch.
        archived_for_good: keep no archive; there is no way back then.
    """

    about: ClassVar = About(
        "remove_taskspace",
        sent_by=PEOPLE,
        target=Target.ENGINE,
        budget=300.0,
        version=2,
        source="bus §3.7, users B-8",
    )
    taskspace_uuid: str
    only_if_safe: bool = False
    branch: str = "auto"
    archived_for_good: bool = False

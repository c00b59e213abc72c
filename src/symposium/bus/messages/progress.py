"""`progress`: news of a request that is not answered yet."""

from typing import ClassVar

from symposium.bus.roles import ANYONE
from symposium.bus.vocabulary import About, Announcement, Target


class Progress(Announcement, frozen=True, kw_only=True):
    """Tell whoever asked how far one is; only who was asked can.

    Attributes:
        request_id: of which request.
        message: for a person.
        done, total: how much of how much, where that is known.
    """

    about: ClassVar = About(
        "progress", sent_by=ANYONE, target=Target.ASKER, version=2, source="bus §1.11, row 5"
    )
    request_id: str
    message: str
    done: float | None = None
    total: float | None = None

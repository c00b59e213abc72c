"""`cancel_request`: the answer is no longer wanted."""

from typing import ClassVar

from symposium.bus.roles import ANYONE
from symposium.bus.vocabulary import About, Announcement, Target


class CancelRequest(Announcement, frozen=True, kw_only=True):
    """Tell whoever is asked that the asker has gone on; only the asker can."""

    about: ClassVar = About(
        "cancel_request", sent_by=ANYONE, target=Target.BROKER, version=2, source="bus §1.11, row 5"
    )
    request_id: str

"""`put_off_inbox`: let something wait on in silence."""

from typing import ClassVar

from symposium.bus.messages.answer_inbox import InboxAnswered
from symposium.bus.roles import PEOPLE
from symposium.bus.vocabulary import About, Request, Target


class PutOffInbox(Request[InboxAnswered], frozen=True, kw_only=True):
    """Say "not now" to an item: it stays, nobody is told of it any more, and nothing is answered.

    Attributes:
        item: its id.
    """

    about: ClassVar = About(
        "put_off_inbox",
        sent_by=PEOPLE,
        target=Target.ENGINE,
        budget=30.0,
        is_idempotent=True,
        version=2,
        source="users B-5",
    )
    item: str

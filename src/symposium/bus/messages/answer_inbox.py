"""`answer_inbox`: answer something that waits for a person."""

from typing import ClassVar

from symposium.bus.roles import PEOPLE
from symposium.bus.vocabulary import About, Reply, Request, Target


class InboxAnswered(Reply, frozen=True):
    """What came of it, for people."""

    text: str


class AnswerInbox(Request[InboxAnswered], frozen=True, kw_only=True):
    """Answer an item; one that was answered already is an error that says by whom and when.

    Attributes:
        item: its id.
        answer: the id of a choice, or for a question any text.
        by: who answers, for those who come later.
        environment: as in `create_taskspace`, for what the answer starts.
    """

    about: ClassVar = About(
        "answer_inbox",
        sent_by=PEOPLE,
        target=Target.ENGINE,
        budget=900.0,
        version=2,
        source="users B-5",
    )
    item: str
    answer: str
    by: str = ""
    environment: str | None = None

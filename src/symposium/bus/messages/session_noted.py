"""`session_noted`: something happened in the session of an agent."""

from typing import ClassVar

from symposium.bus.roles import Role
from symposium.bus.task_shapes import NoteKind
from symposium.bus.vocabulary import About, Announcement, Target


class SessionNoted(Announcement, frozen=True, kw_only=True):
    """Announce what happened in a session, for lists that need not ask its server.

    Attributes:
        session: its id; of a task it is the id of the taskspace.
        seq: number of the last event of the session.
        text: title of the question, beginning of the prompt, or reason of the end.
    """

    about: ClassVar = About(
        "session_noted",
        sent_by=frozenset({Role.HOST}),
        target=Target.EVERYBODY,
        version=2,
        source="spec app 3.2, G2",
    )
    session: str
    seq: int
    kind: NoteKind
    text: str = ""

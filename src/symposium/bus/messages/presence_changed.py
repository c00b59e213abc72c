"""`presence_changed`: somebody came, went or moved."""

from typing import ClassVar, Literal

from symposium.bus.roles import Role
from symposium.bus.shapes import Present
from symposium.bus.vocabulary import About, Announcement, Target


class PresenceChanged(Announcement, frozen=True, kw_only=True):
    """Tell whoever wants to know who is where."""

    about: ClassVar = About(
        "presence_changed",
        sent_by=frozenset({Role.DAEMON}),
        target=Target.EVERYBODY,
        version=2,
        source="bus §7, row 17",
    )
    change: Literal["came", "moved", "gone"]
    peer: Present

"""`traffic`: a message that has just passed."""

from typing import ClassVar

from symposium.bus.roles import Role
from symposium.bus.shapes import Logged
from symposium.bus.vocabulary import About, Announcement, Target


class Traffic(Announcement, frozen=True, kw_only=True):
    """Show a message that has just passed to who has subscribed to `*`."""

    about: ClassVar = About(
        "traffic",
        sent_by=frozenset({Role.DAEMON}),
        target=Target.EVERYBODY,
        version=2,
        source="bus §7, row 34",
    )
    passed: Logged

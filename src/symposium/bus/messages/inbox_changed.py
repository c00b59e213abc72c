"""`inbox_changed`: the inbox has new or settled items."""

from typing import ClassVar

from symposium.bus.roles import Role
from symposium.bus.task_shapes import InboxItem, SettledItem
from symposium.bus.vocabulary import About, Announcement, Target


class InboxChanged(Announcement, frozen=True, kw_only=True):
    """Announce what came to the inbox, and what was settled.

    Attributes:
        waiting: the number of items that wait now.
    """

    about: ClassVar = About(
        "inbox_changed",
        sent_by=frozenset({Role.DAEMON}),
        target=Target.EVERYBODY,
        version=2,
        source="spec app 3.2, G2",
    )
    added: tuple[InboxItem, ...] = ()
    settled: tuple[SettledItem, ...] = ()
    waiting: int = 0

"""`list_inbox`: what waits for a person."""

from typing import ClassVar

from symposium.bus.roles import PEOPLE
from symposium.bus.task_shapes import InboxItem
from symposium.bus.vocabulary import About, Reply, Request, Target


class Inbox(Reply, frozen=True):
    """All that waits, the most urgent first."""

    items: tuple[InboxItem, ...]


class ListInbox(Request[Inbox], frozen=True, kw_only=True):
    """List what waits for a person, in all taskspaces."""

    about: ClassVar = About(
        "list_inbox",
        sent_by=PEOPLE,
        target=Target.ENGINE,
        budget=30.0,
        is_idempotent=True,
        version=2,
        source="users B-5",
    )

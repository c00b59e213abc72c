"""`history`: what has passed."""

from typing import ClassVar

from symposium.bus.roles import Role
from symposium.bus.shapes import Logged
from symposium.bus.vocabulary import About, Request, Target


class History(Request[list[Logged]], frozen=True, kw_only=True):
    """Ask for the messages that are remembered, oldest first, without secrets.

    Attributes:
        types: of these types only.
        taskspace_uuid: sent from, or about, this taskspace only.
        connection: sent by this connection only.
        last: so many at most, the newest; 0 for all.
    """

    about: ClassVar = About(
        "history",
        sent_by=frozenset({Role.APP, Role.CLI, Role.OBSERVER, Role.DAEMON}),
        target=Target.BROKER,
        budget=10.0,
        is_idempotent=True,
        version=2,
        source="bus §7, rows 5 and 34",
    )
    types: frozenset[str] = frozenset()
    taskspace_uuid: str | None = None
    connection: str | None = None
    last: int = 0

"""`response`: the answer to any request; its envelope's id is the request's."""

from typing import Any, ClassVar

from symposium.bus.roles import Role
from symposium.bus.vocabulary import About, Announcement, Target


class Response(Announcement, frozen=True, kw_only=True):
    """Answer a request; the broker takes it only from whom it has asked.

    Attributes:
        success: whether what was asked has happened.
        error: why not.
        data: the reply, as the request's class says.
        code: which kind of error, for programs.
    """

    about: ClassVar = About(
        "response",
        sent_by=frozenset(Role) - {Role.OBSERVER},
        target=Target.ASKER,
        source="bus §1.2",
    )
    success: bool
    error: str | None = None
    data: Any = None
    code: str | None = None

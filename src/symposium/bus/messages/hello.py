"""`hello`: the first message of a peer of version 2."""

from typing import ClassVar, Final

from symposium.bus.roles import Role
from symposium.bus.vocabulary import About, Reply, Request, Target

PROTOCOL: Final = 2


class Welcome(Reply, frozen=True):
    """The broker's name for the connection, and the version that is spoken.

    Attributes:
        connection: the name.
        protocol: the version.
        boot: an id of this life of the daemon; another one after a restart.
        previous_end: why the broker ended this peer's connection before, if it did.
    """

    connection: str
    protocol: int = PROTOCOL
    boot: str = ""
    previous_end: str | None = None


class Hello(Request[Welcome], frozen=True, kw_only=True):
    """Say who one is, what one answers and what one wants to hear.

    Attributes:
        protocol: the version one speaks.
        role: what one is.
        name: what to call one, for people.
        handles: the requests one answers.
        subscribes: the announcements one wants to hear; `*` for the traffic, where the role may.
        pid: one's process.
    """

    about: ClassVar = About(
        "hello",
        sent_by=frozenset(Role),
        target=Target.BROKER,
        budget=5.0,
        is_idempotent=True,
        version=2,
        source="bus §7, row 38",
    )
    protocol: int
    role: Role
    name: str
    handles: frozenset[str] = frozenset()
    subscribes: frozenset[str] = frozenset()
    pid: int | None = None

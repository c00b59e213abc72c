"""`subscribe`: hear these announcements from now on."""

from typing import ClassVar

from symposium.bus.roles import ANYONE, Role
from symposium.bus.vocabulary import About, Done, Request, Target


class Subscribe(Request[Done], frozen=True, kw_only=True):
    """Hear these announcements, and no others; `*` is the traffic, where the role may."""

    about: ClassVar = About(
        "subscribe",
        sent_by=ANYONE | {Role.OBSERVER},
        target=Target.BROKER,
        budget=5.0,
        is_idempotent=True,
        version=2,
        source="bus §7, row 2",
    )
    types: frozenset[str]

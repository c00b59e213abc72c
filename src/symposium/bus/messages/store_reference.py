"""`store_reference`: keep something for an agent to expand later."""

from typing import Any, ClassVar

from symposium.bus.roles import AGENTS, PEOPLE, Role
from symposium.bus.vocabulary import About, Done, Request, Target


class StoreReference(Request[Done], frozen=True, kw_only=True):
    """Keep a value under a key, in place of what was there.

    Attributes:
        key: by which a compact reference names it.
        value: any JSON; what is in it, its maker decides.
    """

    about: ClassVar = About(
        "store_reference",
        sent_by=AGENTS | PEOPLE | {Role.LEGACY},
        target=Target.ENGINE,
        budget=5.0,
        is_idempotent=True,
        source="bus §1.10, seed 001",
    )
    key: str
    value: Any

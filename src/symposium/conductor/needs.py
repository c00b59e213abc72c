"""What a mod needs of what stands before it, and what it adds: all that a planner knows of it."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field

Kind: TypeAlias = Literal["adapter", "component"]


class Needs(Struct, frozen=True):
    """Primitives by name, as in `ide_operations` (acp-host §3.2).

    Attributes:
        kind: an adapter supplies a primitive that the editor lacks; a component uses primitives.
        requires: what must be there before it.
        provides: what is there after it.
        enriches: what it makes of a primitive, by the primitive.
        is_optional: whether the chain may go without it.
    """

    kind: Kind = "component"
    requires: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()
    enriches: Mapping[str, str] = field(default_factory=dict[str, str])
    is_optional: bool = False


NO_NEEDS: Final = Needs()
"""A component that works with any editor."""

"""A component as a plan sees it."""

from msgspec import Struct

from symposium.chain.mod import NO_NEEDS, Needs


class Entry(Struct, frozen=True):
    """A component by its name, with what it needs and adds."""

    id: str
    needs: Needs = NO_NEEDS

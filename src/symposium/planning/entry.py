"""A component as a plan sees it."""

from dataclasses import dataclass

from symposium.conductor.needs import NO_NEEDS, Needs


@dataclass(frozen=True, slots=True)
class Entry:
    """A component by its name, with what it needs and adds."""

    id: str
    needs: Needs = NO_NEEDS

"""The texts that hold at one moment: those of the first layer that has them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from symposium.guidance.text import GuidanceText
from symposium.trust.item import Item

SAME_TEXT: Final[Mapping[str, str]] = {"socrates.md": "main.md"}
"""Ids that stand for another where nobody has written a text of their own."""

FIRST: Final = (
    "main.md",
    "walkthrough-format.md",
    "coding-guidelines.md",
    "mcp-tool-usage-suggestions.md",
)
"""The order in which an agent is asked to read; the rest follows by name."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """What can be read now.

    Attributes:
        texts: by id.
        untrusted: texts of the project that the user has neither allowed nor refused; not used.
        troubles: what could not be read, in words.
    """

    texts: Mapping[str, GuidanceText]
    untrusted: tuple[Item, ...] = ()
    troubles: tuple[str, ...] = field(default=(), compare=False)

    def get(self, id_: str) -> GuidanceText | None:
        """The text of that id; None if there is none."""
        return self.texts.get(id_)

    @property
    def listed(self) -> list[GuidanceText]:
        """All, in the order of reading."""
        last = len(FIRST)
        order = {id_: number for number, id_ in enumerate(FIRST)}
        return sorted(self.texts.values(), key=lambda each: (order.get(each.id, last), each.id))

    def changed_since(self, before: "Shelf") -> frozenset[str]:
        """The ids that have come, gone, or say something else."""
        ids = self.texts.keys() | before.texts.keys()
        return frozenset(id_ for id_ in ids if self.texts.get(id_) != before.texts.get(id_))

    def lists_other_than(self, before: "Shelf") -> bool:
        """Whether a list of both differs: in ids, names, descriptions or sizes."""
        return _rows(self) != _rows(before)


def _rows(shelf: Shelf) -> list[tuple[str, str, str, int]]:
    return [(each.id, each.name, each.description, each.size) for each in shelf.listed]

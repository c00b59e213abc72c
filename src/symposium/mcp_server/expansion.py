"""What an id stands for: a guidance text, the first prompt, or what somebody attached (§2.4).

The reference looks among stored values first, so that a stored key can take the place of guidance.
Here guidance and prompts come first: nobody who can store a value can tell an agent how to work.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from symposium.errors import SymposiumError
from symposium.guidance.boot import BootPrompts, TaskContext
from symposium.guidance.library import GuidanceLibrary
from symposium.guidance.text import URI, GuidanceText
from symposium.references.store import ReferenceStore

PROMPTS: Final = ("yiasou", "hi")

Source: TypeAlias = Literal["guidance", "prompt", "stored"]


class UnknownReferenceError(SymposiumError):
    """Nothing stands behind an id."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """What was found.

    Attributes:
        source: where.
        text: what an agent reads; a stored value as indented JSON.
        guidance: the guidance texts that it holds.
    """

    source: Source
    text: str
    guidance: Sequence[GuidanceText] = ()


class Expansion:
    """Looks in all three places."""

    def __init__(
        self, library: GuidanceLibrary, boot: BootPrompts, references: ReferenceStore
    ) -> None:
        self._library = library
        self._boot = boot
        self._references = references

    def expand(self, id_: str, task: TaskContext | None) -> Expanded:
        """What stands behind an id.

        Raises:
            UnknownReferenceError: nothing does.
            ReferenceStoreError: what is stored cannot be read.
        """
        text = self._library.shelf().get(id_.removeprefix(URI))
        if text is not None:
            return Expanded("guidance", text.text, [text])
        if id_ in PROMPTS:
            return Expanded("prompt", self._boot.inlined(task), self._boot.texts(task))
        stored = self._references.get(id_)
        if stored is None:
            known = ", ".join(each.id for each in self._library.shelf().listed)
            raise UnknownReferenceError(
                f"Reference not found: {id_[:200]!r}",
                f"it is a key from a <symposium-ref>, `yiasou`, or one of: {known}",
            )
        return Expanded("stored", json.dumps(stored.value, indent=2, ensure_ascii=False))

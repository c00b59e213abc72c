"""Expand an id: a guidance text, the first prompt, or a stored reference (bus-mcp §2.4).

The reference implementation looks up stored values first, so a stored key can replace guidance.
Here guidance and prompts come first, so a stored value cannot instruct an agent.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from symposium.documents.boot import BootPrompts, TaskContext
from symposium.documents.guidance import URI, GuidanceLibrary, GuidanceText
from symposium.documents.references import ReferenceStore
from symposium.errors import SymposiumError

PROMPTS: Final = ("yiasou", "hi")

Source: TypeAlias = Literal["guidance", "prompt", "stored"]


class UnknownReferenceError(SymposiumError):
    """An id does not exist."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """The content of an id.

    Attributes:
        text: a stored value is indented JSON.
        guidance: the guidance texts in it.
    """

    source: Source
    text: str
    guidance: Sequence[GuidanceText] = ()


class Expansion:
    """Look up ids in guidance, prompts, and stored references, in that order."""

    def __init__(
        self, library: GuidanceLibrary, boot: BootPrompts, references: ReferenceStore
    ) -> None:
        self._library = library
        self._boot = boot
        self._references = references

    def expand(self, id_: str, task: TaskContext | None) -> Expanded:
        """Return the content of an id.

        Raises:
            UnknownReferenceError: the id does not exist.
            ReferenceStoreError: the stored value cannot be read.
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
                f"use the id of a <symposium-ref>, `yiasou`, or one of: {known}",
            )
        return Expanded("stored", json.dumps(stored.value, indent=2, ensure_ascii=False))

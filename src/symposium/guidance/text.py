"""One guidance text as it is served, and where it came from."""

import hashlib
import re
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from localio.markdown import part

Layer: TypeAlias = Literal["project", "team", "user", "built-in"]
"""Who said it. The first that has a text of an id is the one that is heard."""

URI: Final = "symposium://guidance/"
"""What the URI of a text as an MCP resource begins with; its id follows."""

ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.md")
"""What a text can be called: a bare file name."""


CONDITIONS: Final = frozenset({"file", "word"})
"""What a condition of `applies_to` can be about."""


@dataclass(frozen=True, slots=True)
class GuidanceText:
    """One text.

    Attributes:
        id: the bare file name, as in `main.md`.
        text: all of it, the front matter included.
        layer: who said it.
        body: without the front matter.
        name: what it is called, for people; the id if it does not say.
        description: what it is for; empty if it does not say.
        summary: its content in a few sentences, as its author wrote it; empty without one.
        conditions: when it applies, as pairs of `file` or `word` and a value; always if empty.
        unknown_conditions: parts of `applies_to` that are neither.
        sha256: the hash of all of it.
    """

    id: str
    text: str
    layer: Layer
    body: str = field(init=False)
    name: str = field(init=False)
    description: str = field(init=False)
    summary: str = field(init=False)
    conditions: tuple[tuple[str, str], ...] = field(init=False)
    unknown_conditions: tuple[str, ...] = field(init=False)
    sha256: str = field(init=False)

    def __post_init__(self) -> None:
        """Take the front matter apart."""
        parted = part(self.text)
        object.__setattr__(self, "body", parted.body)
        object.__setattr__(self, "name", parted.fields.get("name") or self.id)
        object.__setattr__(self, "description", parted.fields.get("description", ""))
        object.__setattr__(self, "summary", parted.fields.get("summary", ""))
        terms = [term.strip() for term in parted.fields.get("applies_to", "").split(",")]
        pairs = [(term, *term.partition(":")[::2]) for term in terms if term]
        known = {term: (kind, value.strip()) for term, kind, value in pairs if kind in CONDITIONS}
        object.__setattr__(self, "conditions", tuple(each for each in known.values() if each[1]))
        unknown = tuple(term for term, _, value in pairs if term not in known or not value.strip())
        object.__setattr__(self, "unknown_conditions", unknown)
        object.__setattr__(self, "sha256", hashlib.sha256(self.text.encode()).hexdigest())

    @property
    def uri(self) -> str:
        """What it is called as an MCP resource; a bare file name is no URI."""
        return URI + self.id

    @property
    def size(self) -> int:
        """In bytes, of all of it."""
        return len(self.text.encode())

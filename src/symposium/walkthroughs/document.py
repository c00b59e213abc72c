"""A walkthrough as it was written: Markdown, and the blocks that are more than Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from markdown_it.token import Token

from symposium.errors import SymposiumError


class WalkthroughError(SymposiumError):
    """A walkthrough cannot be read, stored or found."""


@dataclass(frozen=True, slots=True)
class CommentBlock:
    """An explanation of places in code.

    Attributes:
        location: a Dialect program, as it was written; empty for none.
        icon: what was written; None for nothing.
        text: Markdown.
    """

    location: str
    icon: str | None
    text: str


@dataclass(frozen=True, slots=True)
class DiffBlock:
    """A range of commits whose diff is shown; the range as it was written."""

    range: str
    excludes_unstaged: bool
    excludes_staged: bool


@dataclass(frozen=True, slots=True)
class ActionBlock:
    """A button and what pressing it tells the agent."""

    button: str
    message: str


@dataclass(frozen=True, slots=True)
class DiagramBlock:
    """The source of a diagram, in Mermaid's language."""

    source: str


Block: TypeAlias = CommentBlock | DiffBlock | ActionBlock | DiagramBlock


@dataclass(frozen=True, slots=True)
class Placed:
    """A block and the line that it begins in, counted from 1."""

    block: Block
    line: int


@dataclass(frozen=True, slots=True)
class Link:
    """A link into the code, as a `symposium:` URL, and its line, counted from 1."""

    url: str
    line: int


@dataclass(frozen=True, slots=True)
class Note:
    """Something that was written and means nothing here."""

    message: str
    line: int


@dataclass(frozen=True, slots=True)
class Document:
    """A walkthrough.

    Attributes:
        markdown: as it was written.
        tokens: of its Markdown; a block is one of type `BLOCK`, its number in `meta["block"]`.
        blocks: in the order in which they stand.
        links: into the code, each URL once.
        notes: what was left as text though it looks like a block.
    """

    markdown: str
    tokens: Sequence[Token]
    blocks: Sequence[Placed]
    links: Sequence[Link]
    notes: Sequence[Note]


BLOCK = "walkthrough_block"
"""The type of a token that stands for a block."""

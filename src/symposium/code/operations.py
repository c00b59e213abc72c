"""The vocabulary of IDE operations: requests that travel towards the editor, and their results.

A request is `_symposium/ide/<operation>`, its params carry `sessionId` (acp-host §3.4). Lines and
columns count from 1, columns in characters; the end of a range is exclusive. Paths in params may
be relative to the session's directory, paths in results are absolute.
"""

from typing import Final

from msgspec import Struct

PREFIX: Final = "_symposium/ide/"

RESOLVE_SYMBOL: Final = PREFIX + "resolve_symbol_by_name"
FIND_DEFINITIONS: Final = PREFIX + "find_definitions"
FIND_REFERENCES: Final = PREFIX + "find_all_references"
HOVER: Final = PREFIX + "hover"
DIAGNOSTICS: Final = PREFIX + "diagnostics"
GET_SELECTION: Final = PREFIX + "get_selection"

OPERATIONS: Final = (
    RESOLVE_SYMBOL,
    FIND_DEFINITIONS,
    FIND_REFERENCES,
    HOVER,
    DIAGNOSTICS,
    GET_SELECTION,
)
"""Every operation there is."""


class NamedSymbol(Struct, frozen=True, rename="camel"):
    """Params that name a symbol."""

    session_id: str
    name: str


class Place(Struct, frozen=True, rename="camel"):
    """Params that point at a character of a file."""

    session_id: str
    path: str
    line: int
    column: int


class InFile(Struct, frozen=True, rename="camel"):
    """Params that name a file."""

    session_id: str
    path: str


class FileLocation(Struct, frozen=True):
    """A line and a column."""

    line: int
    column: int


class FileRange(Struct, frozen=True, omit_defaults=True):
    """Part of a file; `content` is the line that it begins in."""

    path: str
    start: FileLocation
    end: FileLocation
    content: str | None = None


class SymbolDef(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A symbol and where its name is defined; `kind` is LSP's word for it, as in `Function`."""

    name: str
    defined_at: FileRange
    kind: str | None = None


class Symbols(Struct, frozen=True, rename="camel"):
    """Symbols of a name; where none has exactly that name, those that are like it."""

    symbols: list[SymbolDef]
    is_exact: bool


class Ranges(Struct, frozen=True):
    """Definitions of, or references to, what stands at a place."""

    ranges: list[FileRange]


class Hover(Struct, frozen=True, omit_defaults=True):
    """What is known of what stands at a place, as Markdown; no text where there is nothing."""

    text: str | None
    range: FileRange | None = None


class Diagnostic(Struct, frozen=True, omit_defaults=True):
    """Something that is wrong; `severity` is error, warning, information or hint."""

    range: FileRange
    severity: str
    message: str
    code: str | None = None
    source: str | None = None


class Diagnostics(Struct, frozen=True):
    """What is wrong in a file."""

    diagnostics: list[Diagnostic]


class Selection(Struct, frozen=True, rename="camel"):
    """What is selected in the editor; without an editor, only why there is nothing."""

    selected_text: str | None
    message: str


NO_EDITOR: Final = Selection(None, "no editor")
"""The selection where no editor answers."""

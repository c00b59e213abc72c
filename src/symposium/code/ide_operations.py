"""IDE operations: requests toward the editor, and their results.

A request is `_symposium/ide/<operation>`, with `sessionId` in its params (acp-host §3.4). Lines and
columns start at 1; columns count characters; the end of a range is exclusive. Paths in params may
be relative to the session's directory; paths in results are absolute.
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
"""All operations."""


class NamedSymbol(Struct, frozen=True, rename="camel"):
    """Params with the name of a symbol."""

    session_id: str
    name: str


class Place(Struct, frozen=True, rename="camel"):
    """Params with a position in a file."""

    session_id: str
    path: str
    line: int
    column: int


class InFile(Struct, frozen=True, rename="camel"):
    """Params with a file."""

    session_id: str
    path: str


class CodePosition(Struct, frozen=True):
    """A line and a column."""

    line: int
    column: int


class CodeRange(Struct, frozen=True, omit_defaults=True):
    """A range in a file; `content` is its first line."""

    path: str
    start: CodePosition
    end: CodePosition
    content: str | None = None


class SymbolDefinition(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A symbol and the range of its name; `kind` is LSP's word, such as `Function`."""

    name: str
    defined_at: CodeRange
    kind: str | None = None


class Symbols(Struct, frozen=True, rename="camel"):
    """Symbols with a name; if there is no exact match, similar ones."""

    symbols: list[SymbolDefinition]
    is_exact: bool


class Ranges(Struct, frozen=True):
    """Definitions of, or references to, the symbol at a position."""

    ranges: list[CodeRange]


class Hover(Struct, frozen=True, omit_defaults=True):
    """Documentation of the symbol at a position, as Markdown; empty if unknown."""

    text: str | None
    range: CodeRange | None = None


class Diagnostic(Struct, frozen=True, omit_defaults=True):
    """A problem in a file; `severity` is error, warning, information, or hint."""

    range: CodeRange
    severity: str
    message: str
    code: str | None = None
    source: str | None = None


class DiagnosticsReport(Struct, frozen=True):
    """Diagnostics of a file."""

    diagnostics: list[Diagnostic]


class EditorSelection(Struct, frozen=True, rename="camel"):
    """The selection in the editor; without an editor, only the reason it is missing."""

    selected_text: str | None
    message: str


NO_EDITOR: Final = EditorSelection(None, "no editor")
"""The selection without an editor."""

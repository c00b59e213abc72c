"""What a Dialect program is made of, and how a wrong one is told of (bus-mcp-taskspaces §5.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from symposium.errors import SymposiumError

Atom: TypeAlias = str | int | float | bool | None

_WINDOW: Final = 60
"""Characters of the line around the fault that are shown."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that stands for itself."""

    value: Atom


@dataclass(frozen=True, slots=True)
class Array:
    """Expressions in brackets."""

    items: Sequence["Expression"]


@dataclass(frozen=True, slots=True)
class Object:
    """Expressions by name; of a name that stands twice the last counts."""

    members: Mapping[str, "Expression"]


@dataclass(frozen=True, slots=True)
class Call:
    """A function and what it is given."""

    name: str
    arguments: Sequence["Expression"]


Expression: TypeAlias = Literal | Array | Object | Call


class Fault(Enum):
    """What is wrong; the value is how it is said."""

    UNEXPECTED_EOF = "Unexpected end of input"
    UNEXPECTED_TOKEN = "Unexpected token {}"  # noqa: S105 - a token of a language
    UNEXPECTED_IDENT = "Unexpected identifier without function call"
    EXPECTED_CLOSE_BRACE = "Expected '}'"
    EXPECTED_COLON = "Expected ':'"
    EXPECTED_STRING_OR_IDENT = "Expected string or identifier"
    UNTERMINATED_STRING = "Unterminated string"
    INVALID_ESCAPE = "Invalid escape sequence: {}"
    UNTERMINATED_ESCAPE = "Unterminated escape sequence"
    UNEXPECTED_CHAR = "Unexpected character {}"
    TOO_DEEP = "Nested too deeply"
    TOO_LARGE = "Number too large"
    TOO_LONG = "Program too long"


class DialectSyntaxError(SymposiumError):
    """A program cannot be read.

    Attributes:
        fault: what is wrong.
        position: where, in bytes from 0.
        reason: what is wrong, without the place.
    """

    def __init__(self, fault: Fault, text: str, at: int, detail: str = "") -> None:
        self.fault = fault
        self.position = len(text[:at].encode(errors="surrogatepass"))
        self.reason = fault.value.format(detail) if "{}" in fault.value else fault.value
        hint = _HINTS.get(fault, "")
        shown = f"{self.reason} at {self.position}\n{caret(text, at)}"
        super().__init__(f"{shown}\n{hint}" if hint else shown, "")


_HINTS: Final = {
    Fault.INVALID_ESCAPE: "write a regular expression in backticks, where a backslash is itself",
    Fault.UNEXPECTED_IDENT: "put text in quotes, and parentheses after the name of a function",
}


def caret(text: str, at: int) -> str:
    """The line that this character stands in, and under it a caret at the character."""
    begin = text.rfind("\n", 0, at) + 1
    end = text.find("\n", begin)
    line = text[begin:] if end < 0 else text[begin:end]
    column = at - begin
    cut = max(column - _WINDOW, 0)
    shown = line[cut : column + _WINDOW].replace("\t", " ").replace("\r", " ")
    head = "…" if cut else ""
    return f"  {head}{shown}\n  {' ' * (column - cut + len(head))}^"

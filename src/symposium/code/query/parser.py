"""Syntax of the query language: tokens, expressions, parser.

```
expr  := ident "(" [expr (","? expr)*] ","? ")" | string | number | true | false | null
       | "[" [expr (","? expr)*] ","? "]" | "{" [key ":" expr (","? key ":" expr)*] ","? "}"
key   := string | ident        ident := letter or "_", then letters, digits and "_"
```
Source: bus-mcp-taskspaces §5.1.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias

from symposium.errors import SymposiumError

Atom: TypeAlias = str | int | float | bool | None

_WINDOW: Final = 60
"""Maximum number of characters shown around a syntax error."""


@dataclass(frozen=True, slots=True)
class Literal:
    """Number, string, boolean, or null in a program."""

    value: Atom


@dataclass(frozen=True, slots=True)
class Array:
    """List of expressions, in brackets."""

    items: Sequence["Expression"]


@dataclass(frozen=True, slots=True)
class Object:
    """Expressions by name; the last one wins for a repeated name."""

    members: Mapping[str, "Expression"]


@dataclass(frozen=True, slots=True)
class DialectCall:
    """A function and its arguments."""

    name: str
    arguments: Sequence["Expression"]


Expression: TypeAlias = Literal | Array | Object | DialectCall


class DialectFault(Enum):
    """Kinds of errors; the values are their messages."""

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
    """A program has invalid syntax.

    Attributes:
        fault: kind of error.
        position: offset in bytes, from 0.
        reason: description without the position.
    """

    def __init__(self, fault: DialectFault, text: str, at: int, detail: str = "") -> None:
        self.fault = fault
        self.position = len(text[:at].encode(errors="surrogatepass"))
        self.reason = fault.value.format(detail) if "{}" in fault.value else fault.value
        hint = _HINTS.get(fault, "")
        shown = f"{self.reason} at {self.position}\n{caret(text, at)}"
        super().__init__(f"{shown}\n{hint}" if hint else shown, "")


_HINTS: Final = {
    DialectFault.INVALID_ESCAPE: (
        "write a regular expression in backticks, where a backslash is itself"
    ),
    DialectFault.UNEXPECTED_IDENT: (
        "put text in quotes, and parentheses after the name of a function"
    ),
}


def caret(text: str, at: int) -> str:
    """Line of a character, with a caret below it."""
    begin = text.rfind("\n", 0, at) + 1
    end = text.find("\n", begin)
    line = text[begin:] if end < 0 else text[begin:end]
    column = at - begin
    cut = max(column - _WINDOW, 0)
    shown = line[cut : column + _WINDOW].replace("\t", " ").replace("\r", " ")
    head = "…" if cut else ""
    return f"  {head}{shown}\n  {' ' * (column - cut + len(head))}^"


MAX_DIGITS: Final = 1000
"""Maximum number of digits; Python itself limits conversions to a few thousand."""

_SPACE: Final = re.compile(r"\s*")
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_IDENT: Final = re.compile(r"[^\W\d]\w*")
_PLAIN: Final = {quote: re.compile(rf"[^\\{quote}]*") for quote in "\"'`"}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "/": "/"} | {each: each for each in "\"'`\\"}
_UNICODE: Final = re.compile(r"(?:\\u[0-9a-fA-F]{4})+")
"""A surrogate pair, as in JSON, is one character."""

_BEFORE: Final = 40


class TokenKind(Enum):
    """Lexical category of a token."""

    END = auto()
    MARK = auto()
    IDENT = auto()
    STRING = auto()
    NUMBER = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """A token: text or literal value, and start offset in characters."""

    kind: TokenKind
    value: Atom
    at: int


class Tokens:
    """Tokens of a program.

    Attributes:
        text: program.
        current: next token.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._at = 0
        self.current = self._next()

    def advance(self) -> Token:
        """Return the current token and move to the next."""
        taken = self.current
        self.current = self._next()
        return taken

    def is_mark(self, mark: str) -> bool:
        """Whether the next token is this mark."""
        return self.current.kind is TokenKind.MARK and self.current.value == mark

    def skip(self, mark: str) -> bool:
        """Skip a mark if it is next; returns whether it was."""
        found = self.is_mark(mark)
        if found:
            self.advance()
        return found

    def wrong(self, fault: DialectFault, at: int, detail: str = "") -> DialectSyntaxError:
        """Syntax error in this program."""
        return DialectSyntaxError(fault, self.text, at, detail)

    def _next(self) -> Token:
        begin = _end(_SPACE, self.text, self._at)
        if begin == len(self.text):
            self._at = begin
            return Token(TokenKind.END, None, begin)
        character = self.text[begin]
        if character in "()[]{}:,":
            self._at = begin + 1
            return Token(TokenKind.MARK, character, begin)
        if character in _PLAIN:
            return Token(TokenKind.STRING, self._string(begin, character), begin)
        if found := _NUMBER.match(self.text, begin):
            self._at = found.end()
            return Token(TokenKind.NUMBER, self._number(found), begin)
        if found := _IDENT.match(self.text, begin):
            self._at = found.end()
            return Token(TokenKind.IDENT, found[0], begin)
        before = self.text[max(begin - _BEFORE, 0) : begin]
        raise self.wrong(DialectFault.UNEXPECTED_CHAR, begin, f'{character!r} following "{before}"')

    def _number(self, found: re.Match[str]) -> int | float:
        written = found[0]
        if len(written) > MAX_DIGITS:
            raise self.wrong(DialectFault.TOO_LARGE, found.start())
        if found[1] is None and found[2] is None:
            return int(written)
        value = float(written)
        if math.isinf(value):
            raise self.wrong(DialectFault.TOO_LARGE, found.start())
        return value

    def _string(self, begin: int, quote: str) -> str:
        parts: list[str] = []
        at = begin + 1
        while True:
            end = _end(_PLAIN[quote], self.text, at)
            parts.append(self.text[at:end])
            if end == len(self.text):
                raise self.wrong(DialectFault.UNTERMINATED_STRING, begin)
            if self.text[end] == quote:
                self._at = end + 1
                return "".join(parts)
            # Raw in backticks, so that a regular expression needs no escapes.
            at, part = self._raw(end) if quote == "`" else self._escape(end)
            parts.append(part)

    def _raw(self, at: int) -> tuple[int, str]:
        if self.text[at + 1 : at + 2] == "`":
            return at + 2, "`"
        return at + 1, "\\"

    def _escape(self, at: int) -> tuple[int, str]:
        if at + 1 == len(self.text):
            raise self.wrong(DialectFault.UNTERMINATED_ESCAPE, at)
        escape = self.text[at + 1]
        if escape in _ESCAPES:
            return at + 2, _ESCAPES[escape]
        found = _UNICODE.match(self.text, at)
        if found is None:
            raise self.wrong(DialectFault.INVALID_ESCAPE, at, f"\\{escape}")
        units = b"".join(bytes.fromhex(each) for each in found[0].split("\\u")[1:])
        try:
            return found.end(), units.decode("utf-16-be")
        except UnicodeDecodeError as error:
            raise self.wrong(DialectFault.INVALID_ESCAPE, at, found[0]) from error


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()


MAX_CHARACTERS: Final = 256 * 1024
"""Maximum length of a program, in characters."""

DEEPEST: Final = 64
"""Maximum depth of nested expressions."""

_WORDS: Final[dict[str, Atom]] = {"true": True, "false": False, "null": None, "undefined": None}


def parse(text: str) -> Expression:
    """Parse a program into its expression.

    Raises:
        DialectSyntaxError: the text is not a program.
    """
    return _Parser(text[: MAX_CHARACTERS + 1]).program()


class _Parser:
    """Parser of one program; each method parses the construct in its name."""

    def __init__(self, text: str) -> None:
        self._tokens = Tokens(text)
        self._depth = 0

    def program(self) -> Expression:
        if len(self._tokens.text) > MAX_CHARACTERS:
            raise self._tokens.wrong(DialectFault.TOO_LONG, MAX_CHARACTERS)
        expression = self._expression()
        if self._tokens.current.kind is not TokenKind.END:
            raise self._unexpected()
        return expression

    def _expression(self) -> Expression:
        token = self._tokens.current
        match token.kind:
            case TokenKind.STRING | TokenKind.NUMBER:
                return Literal(self._tokens.advance().value)
            case TokenKind.IDENT:
                self._tokens.advance()
                return self._call(str(token.value), token.at)
            case _ if self._depth == DEEPEST:
                raise self._tokens.wrong(DialectFault.TOO_DEEP, token.at)
            case _ if self._tokens.skip("["):
                return Array(self._until("]"))
            case _ if self._tokens.skip("{"):
                return self._object(token.at)
            case _:
                raise self._unexpected()

    def _call(self, name: str, at: int) -> Expression:
        if self._tokens.is_mark("("):
            if self._depth == DEEPEST:
                raise self._tokens.wrong(DialectFault.TOO_DEEP, at)
            self._tokens.advance()
            return DialectCall(name, self._until(")"))
        if name in _WORDS:
            return Literal(_WORDS[name])
        raise self._tokens.wrong(DialectFault.UNEXPECTED_IDENT, at)

    def _until(self, mark: str) -> list[Expression]:
        items: list[Expression] = []
        self._depth += 1
        while not self._tokens.skip(mark):
            items.append(self._expression())
            self._tokens.skip(",")
        self._depth -= 1
        return items

    def _object(self, begin: int) -> Object:
        members: dict[str, Expression] = {}
        self._depth += 1
        while not self._tokens.skip("}"):
            key = self._tokens.current
            if key.kind is TokenKind.END:
                at = key.at if members else begin + 1
                raise self._tokens.wrong(DialectFault.EXPECTED_CLOSE_BRACE, at)
            if key.kind not in {TokenKind.STRING, TokenKind.IDENT}:
                raise self._tokens.wrong(DialectFault.EXPECTED_STRING_OR_IDENT, key.at)
            self._tokens.advance()
            if not self._tokens.skip(":"):
                raise self._tokens.wrong(DialectFault.EXPECTED_COLON, self._tokens.current.at)
            members[str(key.value)] = self._expression()
            self._tokens.skip(",")
        self._depth -= 1
        return Object(members)

    def _unexpected(self) -> Exception:
        token = self._tokens.current
        if token.kind is TokenKind.END:
            return self._tokens.wrong(DialectFault.UNEXPECTED_EOF, token.at)
        return self._tokens.wrong(DialectFault.UNEXPECTED_TOKEN, token.at, repr(token.value))

"""Cuts a Dialect program into tokens, one at a time: what stands after a fault is not looked at."""

import math
import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from symposium.ide.dialect.syntax import Atom, DialectSyntaxError, Fault

MOST_DIGITS: Final = 1000
"""Digits of the longest number; Python itself refuses more than a few thousand."""

_SPACE: Final = re.compile(r"\s*")
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_IDENT: Final = re.compile(r"[^\W\d]\w*")
_PLAIN: Final = {quote: re.compile(rf"[^\\{quote}]*") for quote in "\"'`"}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "/": "/"} | {each: each for each in "\"'`\\"}
_UNICODE: Final = re.compile(r"(?:\\u[0-9a-fA-F]{4})+")
"""Together, as JSON writes a character beyond the basic plane as two."""

_BEFORE: Final = 40


class Kind(Enum):
    """What a token is."""

    END = auto()
    MARK = auto()
    IDENT = auto()
    STRING = auto()
    NUMBER = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """A token: its text, or the value of a literal, and where it begins in characters."""

    kind: Kind
    value: Atom
    at: int


class Tokens:
    """The tokens of a program.

    Attributes:
        text: the program.
        current: the token that comes next.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._at = 0
        self.current = self._next()

    def advance(self) -> Token:
        """Take the current token."""
        taken = self.current
        self.current = self._next()
        return taken

    def is_mark(self, mark: str) -> bool:
        """Whether this mark comes next."""
        return self.current.kind is Kind.MARK and self.current.value == mark

    def skip(self, mark: str) -> bool:
        """Take a mark if it comes next; whether it did."""
        found = self.is_mark(mark)
        if found:
            self.advance()
        return found

    def wrong(self, fault: Fault, at: int, detail: str = "") -> DialectSyntaxError:
        """An error of this program."""
        return DialectSyntaxError(fault, self.text, at, detail)

    def _next(self) -> Token:
        begin = _end(_SPACE, self.text, self._at)
        if begin == len(self.text):
            self._at = begin
            return Token(Kind.END, None, begin)
        character = self.text[begin]
        if character in "()[]{}:,":
            self._at = begin + 1
            return Token(Kind.MARK, character, begin)
        if character in _PLAIN:
            return Token(Kind.STRING, self._string(begin, character), begin)
        if found := _NUMBER.match(self.text, begin):
            self._at = found.end()
            return Token(Kind.NUMBER, self._number(found), begin)
        if found := _IDENT.match(self.text, begin):
            self._at = found.end()
            return Token(Kind.IDENT, found[0], begin)
        before = self.text[max(begin - _BEFORE, 0) : begin]
        raise self.wrong(Fault.UNEXPECTED_CHAR, begin, f'{character!r} following "{before}"')

    def _number(self, found: re.Match[str]) -> int | float:
        written = found[0]
        if len(written) > MOST_DIGITS:
            raise self.wrong(Fault.TOO_LARGE, found.start())
        if found[1] is None and found[2] is None:
            return int(written)
        value = float(written)
        if math.isinf(value):
            raise self.wrong(Fault.TOO_LARGE, found.start())
        return value

    def _string(self, begin: int, quote: str) -> str:
        parts: list[str] = []
        at = begin + 1
        while True:
            end = _end(_PLAIN[quote], self.text, at)
            parts.append(self.text[at:end])
            if end == len(self.text):
                raise self.wrong(Fault.UNTERMINATED_STRING, begin)
            if self.text[end] == quote:
                self._at = end + 1
                return "".join(parts)
            # Raw in backticks, so that a regular expression can be written as it is.
            at, part = self._raw(end) if quote == "`" else self._escape(end)
            parts.append(part)

    def _raw(self, at: int) -> tuple[int, str]:
        if self.text[at + 1 : at + 2] == "`":
            return at + 2, "`"
        return at + 1, "\\"

    def _escape(self, at: int) -> tuple[int, str]:
        if at + 1 == len(self.text):
            raise self.wrong(Fault.UNTERMINATED_ESCAPE, at)
        escape = self.text[at + 1]
        if escape in _ESCAPES:
            return at + 2, _ESCAPES[escape]
        found = _UNICODE.match(self.text, at)
        if found is None:
            raise self.wrong(Fault.INVALID_ESCAPE, at, f"\\{escape}")
        units = b"".join(bytes.fromhex(each) for each in found[0].split("\\u")[1:])
        try:
            return found.end(), units.decode("utf-16-be")
        except UnicodeDecodeError as error:
            raise self.wrong(Fault.INVALID_ESCAPE, at, found[0]) from error


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()

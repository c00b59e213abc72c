"""JSON with comments, read with positions.

`//` and `/* */` comments and trailing commas are accepted (acp-host §4.1); all else is RFC 8259.
"""

import json
import re
from typing import Any, Final, TypeAlias

from msgspec import Struct

from localio.errors import LocalIOError

# Atomic groups: each character is examined once, so the match is linear.
_TRIVIA: Final = re.compile(r"(?>[ \t\r\n]+|//[^\r\n]*|/\*(?s:.*?)\*/)*+")
_PIECE: Final = re.compile(r"[ \t\r\n]+|//[^\r\n]*|/\*(?s:.*?)\*/")
_REST_OF_LINE: Final = re.compile(
    r"(?>[ \t]*/\*(?:[^*\r\n]|\*(?!/))*+\*/)*+[ \t]*+(?://[^\r\n]*+)?(?=[\r\n]|\Z)"
)


def json_text(value: Any, indent: str | None = None, *, sort_keys: bool = False) -> str:
    """A value as JSON: non-ASCII text is kept, lone surrogates are escaped.

    Raises:
        ValueError: it is not a JSON value.
    """
    text = json.dumps(
        value, indent=indent, ensure_ascii=False, allow_nan=False, sort_keys=sort_keys
    )
    if any("\ud800" <= character <= "\udfff" for character in text):
        return json.dumps(value, indent=indent, allow_nan=False, sort_keys=sort_keys)
    return text


def after_trivia(text: str, at: int) -> int:
    """Next index that is neither white space nor comment."""
    found = _TRIVIA.match(text, at)
    return at if found is None else found.end()


def rest_of_line(text: str, at: int) -> int:
    """End of the comments up to the end of the line; `at` if other text follows."""
    found = _REST_OF_LINE.match(text, at)
    return at if found is None or not found[0].strip() else found.end()


def ends_in_line_comment(trivia: str) -> bool:
    """Whether text appended to it would be part of a comment."""
    pieces: list[str] = _PIECE.findall(trivia)
    return bool(pieces) and pieces[-1].startswith("//")


def after_last_blank_line(trivia: str) -> int:
    """Index of the first comment not separated from what follows by a blank line."""
    cut, at, has_comment = 0, 0, False
    for piece in _PIECE.findall(trivia):
        if not piece.isspace():
            has_comment = True
        elif has_comment and piece.count("\n") > 1:
            cut = at + piece.rindex("\n")
        at += len(piece)
    return cut


def indent_at(text: str, at: int) -> str:
    """Indentation of the line of this index."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


MAX_DEPTH: Final = 100
"""Maximum levels of nesting; a config has four."""

_SCALAR: Final = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_STEP: Final = r"\[(\d+)\]|\.?([^.\[\]]+)"  # compiled when an error needs it
_ESCAPES: Final = r"(?i)\\ud[89ab]..\\ud[c-f]..|(\\ud[89a-f]..)|\\."  # the same
_DECODER: Final = json.JSONDecoder()
_MAX_NUMBER: Final = 1000


class JsoncError(LocalIOError):
    """A text is not JSON with comments.

    Attributes:
        line: counted from 1.
        column: counted from 1, in characters.
        reason: what was expected instead.
    """

    def __init__(self, reason: str, text: str, at: int) -> None:
        self.line, self.column = place(text, at)
        self.reason = reason
        super().__init__(f"line {self.line}, column {self.column}: {reason}", "")


def place(text: str, at: int) -> tuple[int, int]:
    """Line and column of a character, counted from 1."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


class ScalarNode(Struct, frozen=True):
    """A string, number, boolean, or null, and its position."""

    start: int
    end: int
    value: Any


class JsoncItem(Struct, frozen=True):
    """An element of an array or member of an object; `start` includes the key.

    Attributes:
        key: the member's name; None in an array.
        tail: end of the item, with its comma and a comment on the same line.
        has_comma: whether a comma follows it.
    """

    key: str | None
    start: int
    node: "Node"
    tail: int
    has_comma: bool


class ContainerNode(Struct, frozen=True):
    """An object or an array, and its position."""

    start: int
    end: int
    items: tuple[JsoncItem, ...]
    is_object: bool

    @property
    def value(self) -> Any:
        """Value as a dict or list."""
        if self.is_object:
            return {item.key: item.node.value for item in self.items}
        return [item.node.value for item in self.items]


Node: TypeAlias = ScalarNode | ContainerNode


def parse(text: str) -> Node:
    """Read one value, which may be surrounded by comments.

    Raises:
        JsoncError: the text is not valid.
    """
    reader = _Reader(text)
    at = reader.skip(1 if text.startswith("\ufeff") else 0)
    node = reader.value(at, 0)
    end = reader.skip(node.end)
    if end != len(text):
        raise JsoncError("expected the end of the file", text, end)
    return node


def node_at(root: Node, where: str) -> Node:
    """Node at a path such as `proxies[0].source`, or its last existing parent."""
    node = root
    for index, key in re.findall(_STEP, where):
        if not isinstance(node, ContainerNode) or node.is_object is bool(index):
            break
        inner = [
            item.node
            for number, item in enumerate(node.items)
            if (number == int(index) if index else item.key == key)
        ]
        if not inner:
            break
        node = inner[0]
    return node


class _Reader:
    """Read one text by recursive descent."""

    def __init__(self, text: str) -> None:
        self._text = text

    def skip(self, at: int) -> int:
        """Next index that is neither white space nor comment."""
        end = after_trivia(self._text, at)
        if self._text.startswith("/*", end):
            raise JsoncError("this comment is not closed; add `*/`", self._text, end)
        return end

    def value(self, at: int, depth: int) -> Node:
        """Read the value that begins at this index."""
        if depth > MAX_DEPTH:
            raise JsoncError(f"nested deeper than {MAX_DEPTH} levels", self._text, at)
        match self._text[at : at + 1]:
            case "{":
                return self._container(at, depth, "}")
            case "[":
                return self._container(at, depth, "]")
            case '"':
                value, end = self._string(at)
                return ScalarNode(at, end, value)
            case first:
                return self._scalar(at, first)

    def _scalar(self, at: int, first: str) -> ScalarNode:
        found = _SCALAR.match(self._text, at)
        if found is None or self._text[found.end() : found.end() + 1].isalnum():
            raise JsoncError(_expected_value(first), self._text, at)
        value: Any = None if len(found[0]) > _MAX_NUMBER else json.loads(found[0])
        if len(found[0]) > _MAX_NUMBER or value in {float("inf"), float("-inf")}:
            raise JsoncError("this number is too large", self._text, at)
        return ScalarNode(at, found.end(), value)

    def _string(self, at: int) -> tuple[str, int]:
        try:
            value, end = _DECODER.raw_decode(self._text, at)
        except json.JSONDecodeError as error:
            reason = f"this string is broken: {error.msg}"
            raise JsoncError(reason, self._text, error.pos) from error
        try:
            value.encode()
        except UnicodeEncodeError as error:
            # RFC 8259 §8.2: a lone surrogate can neither be written to a file nor to a peer.
            broken = value[error.start].encode("unicode_escape").decode()
            halves = (each for each in re.finditer(_ESCAPES, self._text[at:end]) if each[1])
            where = at + next((each.start() for each in halves), 0)
            raise JsoncError(f"{broken} is half a character", self._text, where) from error
        return value, end

    def _container(self, start: int, depth: int, closing: str) -> ContainerNode:
        items: list[JsoncItem] = []
        seen: set[str | None] = {None}
        at = self.skip(start + 1)
        while self._text[at : at + 1] != closing:
            if items and not items[-1].has_comma:
                raise JsoncError(self._expected(f"a comma or `{closing}`", at), self._text, at)
            item = self._member(at, depth) if closing == "}" else self._item(None, at, at, depth)
            if item.key is not None and item.key in seen:
                raise JsoncError(f"duplicate key {item.key!r}", self._text, at)
            seen.add(item.key)
            items.append(item)
            at = self.skip(item.tail)
        return ContainerNode(start, at + 1, tuple(items), closing == "}")

    def _member(self, at: int, depth: int) -> JsoncItem:
        if self._text[at : at + 1] != '"':
            raise JsoncError(self._expected("a key in double quotes", at), self._text, at)
        key, end = self._string(at)
        colon = self.skip(end)
        if self._text[colon : colon + 1] != ":":
            raise JsoncError(f"expected `:` after the key {key!r}", self._text, colon)
        return self._item(key, at, self.skip(colon + 1), depth)

    def _item(self, key: str | None, start: int, at: int, depth: int) -> JsoncItem:
        node = self.value(at, depth + 1)
        comma = self.skip(node.end)
        has_comma = self._text[comma : comma + 1] == ","
        tail = rest_of_line(self._text, comma + 1 if has_comma else node.end)
        return JsoncItem(key, start, node, tail, has_comma)

    def _expected(self, what: str, at: int) -> str:
        found = self._text[at : at + 1]
        return f"expected {what}, " + (f"found {found!r}" if found else "but the file ends")


def _expected_value(first: str) -> str:
    match first:
        case "":
            return "expected a value, but the file ends"
        case "'":
            return 'strings need double quotes: write "…"'
        case _:
            return f"expected a value, found {first!r}"

"""Values as JSON text, and what may stand between them: white space and comments."""

import json
import re
from typing import Any, Final

# Atomic groups: whatever the text, each character is looked at once.
_TRIVIA: Final = re.compile(r"(?>[ \t\r\n]+|//[^\r\n]*|/\*(?s:.*?)\*/)*+")
_PIECE: Final = re.compile(r"[ \t\r\n]+|//[^\r\n]*|/\*(?s:.*?)\*/")
_REST_OF_LINE: Final = re.compile(
    r"(?>[ \t]*/\*(?:[^*\r\n]|\*(?!/))*+\*/)*+[ \t]*+(?://[^\r\n]*+)?(?=[\r\n]|\Z)"
)


def json_text(value: Any, indent: str | None = None, *, sort_keys: bool = False) -> str:
    """A value as JSON: letters of all scripts stay readable, half a surrogate pair is escaped.

    Raises:
        ValueError: it is not one of JSON's values.
    """
    text = json.dumps(
        value, indent=indent, ensure_ascii=False, allow_nan=False, sort_keys=sort_keys
    )
    if any("\ud800" <= character <= "\udfff" for character in text):
        return json.dumps(value, indent=indent, allow_nan=False, sort_keys=sort_keys)
    return text


def after_trivia(text: str, at: int) -> int:
    """The next place that is neither white space nor comment."""
    found = _TRIVIA.match(text, at)
    return at if found is None else found.end()


def rest_of_line(text: str, at: int) -> int:
    """The end of the comments from here to the end of the line; here, if something else follows."""
    found = _REST_OF_LINE.match(text, at)
    return at if found is None or not found[0].strip() else found.end()


def ends_in_line_comment(trivia: str) -> bool:
    """Whether what is written right behind it would be part of a comment."""
    pieces: list[str] = _PIECE.findall(trivia)
    return bool(pieces) and pieces[-1].startswith("//")


def after_last_blank_line(trivia: str) -> int:
    """Where the comments begin that no blank line separates from what follows; 0 for all."""
    cut, at, has_comment = 0, 0, False
    for piece in _PIECE.findall(trivia):
        if not piece.isspace():
            has_comment = True
        elif has_comment and piece.count("\n") > 1:
            cut = at + piece.rindex("\n")
        at += len(piece)
    return cut


def indent_at(text: str, at: int) -> str:
    """The white space that begins the line of this place."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]

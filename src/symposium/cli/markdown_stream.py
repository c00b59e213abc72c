"""Markdown that arrives in pieces, as styled lines that are complete; no I/O."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from localio.text import plain_text
from symposium.cli.markdown_layout import (
    CODE,
    DIM,
    NARROWEST,
    MarkdownSpan,
    ansi,
    is_settled,
    markdown_lines,
)

LARGEST_BLOCK: Final = 8192
"""Characters of a paragraph or of a line of code that wait for their end."""

_FENCE: Final = re.compile(r"( *)(`{3,}(?=[^`]*$)|~{3,})")
_HEADING: Final = re.compile(r" {0,3}#{1,6}(?: |$)")
_RULE: Final = re.compile(r" {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$")
_ITEM: Final = re.compile(r"( *)([-*+]|(\d{1,9})[.)])( +|$)")
_QUOTE: Final = re.compile(r" *>")
_UNDERLINE: Final = re.compile(r" {0,3}(?:=+|-+) *$")
# A line that is too short so far to know its block.
_UNCLEAR: Final = re.compile(r" *(?:#|`{3}|~{3}|\||[-*_=+ ]*$|\d+[.)]?$)")
_CODE_INDENT: Final = 4


@dataclass(frozen=True, slots=True)
class _Fence:
    indent: int
    mark: str

    def is_closed_by(self, line: str) -> bool:
        """Whether the line is the end of the code."""
        stripped = line.strip()
        return set(stripped) == {self.mark[0]} and len(stripped) >= len(self.mark)


class _Block:
    """The block that is not complete yet.

    Attributes:
        kind: `text`, `item`, or `quote`.
    """

    def __init__(self, kind: str, indent: int, width: int, style: str) -> None:
        self.kind = kind
        self._indent = min(indent, width // 2)
        self._width = width - self._indent
        self._style = style
        self._lines: list[str] = []
        # Lines that were shown, and what was shown of the next one.
        self._shown = 0
        self._begin = ""
        self.size = 0

    def add(self, line: str) -> None:
        """Take one more line of it."""
        self._lines.append(line.lstrip(" "))
        self.size += len(line) + 1

    def replace(self, line: str) -> None:
        """Add text to the last line."""
        self._lines[-1] = line.lstrip(" ")

    @property
    def is_open_text(self) -> bool:
        """Whether the block is a paragraph, which may become a heading or a table."""
        return self.kind == "text"

    def settled(self) -> str:
        """Format the part that further input cannot change."""
        source = "\n".join(self._lines)
        if self.kind == "quote" or "|" in source or not is_settled(source):
            return ""
        return self._unseen(held=1)

    def paused(self) -> str:
        """All text so far, without a final line feed, because the line may continue."""
        lines = self._rendered()
        if self.kind == "quote" or "|" in "".join(self._lines) or len(lines) <= self._shown:
            return ""
        shown = self._unseen(held=1)
        last = lines[-1]
        unseen, self._begin = _after(self._begin, last), last
        return shown + unseen

    def rest(self) -> str:
        """Return the part that was not shown yet."""
        return self._unseen(held=0)

    def _unseen(self, held: int) -> str:
        lines = self._rendered()
        end = max(len(lines) - held, self._shown)
        unseen = lines[self._shown : end]
        if unseen:
            unseen[0] = _after(self._begin, unseen[0])
            self._shown, self._begin = end, ""
        return "".join(f"{line}\n" for line in unseen)

    def _rendered(self) -> list[str]:
        lines = markdown_lines("\n".join(self._lines), self._width, self._style)
        return [f"{' ' * self._indent}{line}" for line in lines]


class MarkdownStream:
    """Format the lines of a text as soon as they are final.

    Args:
        width: gives the columns of the terminal now.
        style: codes that all of the text gets.
    """

    def __init__(self, width: Callable[[], int], style: str = "") -> None:
        self._width = width
        self._style = style
        self._partial = ""
        self._tried = 0
        self._block: _Block | None = None
        self._fence: _Fence | None = None
        # Where the text of the last item begins: what is indented as far belongs to it.
        self._item_text = 0
        self._is_blank = True
        self._is_in_line = False
        # Whether the last line of the block is the one that is still coming.
        self._is_line_begun = False

    def feed(self, piece: str) -> str:
        """Add a piece; return the complete lines that can be shown now."""
        *lines, self._partial = (self._partial + piece).split("\n")
        shown = "".join(self._line(_clean(line)) for line in lines)
        if lines:
            self._tried = 0
        return shown + self._early()

    def pause(self) -> str:
        """Return all pending text; an unfinished last line stays open."""
        if self._fence is not None:
            return ""
        shown = self._begun_early()
        if self._block is None:
            return shown
        return shown + (self._block.paused() if self._partial else self._ended_block())

    def finish(self) -> str:
        """The rest: no more of this text comes."""
        partial, self._partial, self._tried = self._partial, "", 0
        shown = self._line(_clean(partial)) if partial or self._is_in_line else ""
        shown += self._ended_block()
        self._fence, self._item_text, self._is_blank = None, 0, True
        return shown

    def _early(self) -> str:
        """Format the visible part of an incomplete paragraph or line of code."""
        if len(self._partial) > LARGEST_BLOCK:
            return self._overlong()
        if self._fence is not None or len(self._partial) < self._tried + self._step():
            return ""
        self._tried = len(self._partial)
        shown = self._begun_early()
        if self._block is None or not self._is_line_begun:
            return shown
        return shown + self._block.settled()

    def _step(self) -> int:
        """Characters until a block is rendered again; more for a long block."""
        size = 0 if self._block is None else self._block.size
        return max(self._width(), (size + len(self._partial)) // 2) // 2

    def _begun_early(self) -> str:
        """Add the unfinished line to its block, if the block is clear."""
        line = _clean(self._partial)
        if self._is_line_begun and self._block is not None:
            self._block.replace(line)
            return ""
        if _UNCLEAR.match(line) or line.startswith(" " * (self._item_text + _CODE_INDENT)):
            return ""
        shown = self._line(line)
        self._is_line_begun = True
        return shown

    def _overlong(self) -> str:
        partial, self._partial, self._tried = self._partial, "", 0
        if self._fence is not None:
            self._is_in_line = True
            return ansi([MarkdownSpan(_clean(partial), CODE)], self._style)
        cut = partial.rfind(" ") + 1 or len(partial)
        self._partial = partial[cut:]
        # The rest starts a separate paragraph.
        return self._line(_clean(partial[:cut])) + self._ended_block()

    def _line(self, line: str) -> str:
        if self._is_line_begun and self._block is not None:
            self._is_line_begun = False
            self._block.replace(line)
            return ""
        if self._is_in_line:
            self._is_in_line = False
            return _painted(line, CODE, self._style)
        if self._fence is not None:
            return self._code(self._fence, line)
        if not line.strip():
            shown = self._ended_block()
            blank, self._is_blank = ("" if self._is_blank else "\n"), True
            return shown + blank
        self._is_blank = False
        return self._continued(line)

    def _continued(self, line: str) -> str:
        block = self._block
        if block is not None and block.size > LARGEST_BLOCK:
            return self._ended_block() + self._begun(line)
        if block is not None and block.is_open_text and _UNDERLINE.match(line):
            block.add(line)
            return self._ended_block()
        if block is not None and not self._begins(line, block):
            block.add(line)
            return ""
        return self._ended_block() + self._begun(line)

    def _begins(self, line: str, block: _Block) -> bool:
        """Whether the line begins another block than the one that is open."""
        if _QUOTE.match(line):
            return block.kind != "quote"
        item = _ITEM.match(line)
        if item and block.is_open_text and not self._item_text and item[3] not in {None, "1"}:
            item = None
        return any((_FENCE.match(line), _HEADING.match(line), _RULE.match(line), item))

    def _begun(self, line: str) -> str:
        """Start a block with this line; return the text that can be shown now."""
        indent = len(line) - len(line.lstrip(" "))
        reach = self._item_text + _CODE_INDENT
        if (found := _FENCE.match(line)) and indent < reach:
            self._fence = _Fence(indent, found[2])
            return _painted(line, DIM, self._style)
        if _HEADING.match(line) or _RULE.match(line):
            self._open("text", 0).add(line)
            return self._ended_block()
        if (found := _ITEM.match(line)) and indent < reach:
            self._item_text = len(found[1]) + len(found[2]) + max(len(found[4]), 1)
            self._open("item", indent).add(line)
            return ""
        if indent < self._item_text:
            self._item_text = 0
        if indent >= self._item_text + _CODE_INDENT:
            return _painted(line, CODE, self._style)
        kind = "quote" if _QUOTE.match(line) else "text"
        self._open(kind, self._item_text).add(line)
        return ""

    def _open(self, kind: str, indent: int) -> _Block:
        self._tried = 0
        width = max(self._width(), NARROWEST)
        self._block = _Block(kind, indent, width, self._style)
        return self._block

    def _ended_block(self) -> str:
        block, self._block = self._block, None
        return "" if block is None else block.rest()

    def _code(self, fence: _Fence, line: str) -> str:
        if fence.is_closed_by(line):
            self._fence = None
            return _painted(line, DIM, self._style)
        return _painted(line, CODE, self._style)


def _painted(line: str, code: str, style: str) -> str:
    return ansi([MarkdownSpan(line, code)], style) + "\n"


def _clean(line: str) -> str:
    """Remove control characters and a carriage return before the newline."""
    return plain_text(line.removesuffix("\r").expandtabs(4))


def _after(begin: str, line: str) -> str:
    """Return the rest of a line; the whole line, on a new line, if its beginning changed."""
    return line.removeprefix(begin) if line.startswith(begin) else f"\n{line}"

"""A walkthrough as lines of text: its Markdown, and its blocks with their code."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from localio.text import plain_text
from symposium.code.diffs import Changes, FileChange
from symposium.code.ide_operations import CodeRange
from symposium.documents.walkthroughs.document import (
    BLOCK,
    ActionBlock,
    CommentBlock,
    DiagramBlock,
    DiffBlock,
)
from symposium.documents.walkthroughs.places import BlockDiagnostic, Resolved
from symposium.documents.walkthroughs.rendering import Excerpts, expression_text, icon_of

Tone: TypeAlias = Literal["plain", "heading", "faint", "meant", "add", "del", "fault"]

MAX_PLACES: Final = 3
"""Maximum number of places shown per comment."""

MAX_DIFF_LINES: Final = 80
"""Maximum number of diff lines per file."""

_TONES: Final[dict[str, Tone]] = {"Added": "add", "Removed": "del", "Context": "plain"}
_SIGNS: Final = {"Added": "+", "Removed": "-", "Context": " "}


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line without control characters, and its style."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Drawing:
    """Options for drawing: mark next to a block, and width for wrapping."""

    bar: str = "│"
    width: int = 80


PLAIN: Final = Drawing("|")
"""Drawing for ASCII-only outputs."""


def text_lines(resolved: Resolved, drawing: Drawing | None = None) -> Iterator[TextLine]:
    """Lines of a walkthrough, with excerpts of the referenced files."""
    written = _Written(resolved, Excerpts(resolved.workspace), drawing or Drawing())
    for line in written.lines():
        yield TextLine(plain_text(line.text).replace("\n", " ").rstrip(), line.tone)


def fault_lines(diagnostics: Sequence[BlockDiagnostic]) -> Iterator[TextLine]:
    """One line per block or link with its result, followed by the fix."""
    for each in diagnostics:
        count = f" ({each.count})" if each.status == "ambiguous" else ""
        first, *rest = (each.message or "").split("\n")
        tone: Tone = "fault" if each.is_fault else "plain"
        first_line = f"line {each.line}: {each.kind}: {each.status}{count}"
        yield TextLine(plain_text(f"{first_line}: {first}" if first else first_line), tone)
        yield from (TextLine(f"    {plain_text(line)}", "faint") for line in rest)
        for other in each.replacements:
            yield TextLine(f"    or: {plain_text(other)}", "faint")


@dataclass(frozen=True, slots=True)
class _Written:
    resolved: Resolved
    excerpts: Excerpts
    drawing: Drawing

    def lines(self) -> Iterator[TextLine]:
        # Split like the parser, to match its line numbers.
        source = (
            self.resolved.document.markdown.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        )
        at = 0
        for token in self.resolved.document.tokens:
            if token.type != BLOCK or token.map is None:
                continue
            begin, end = token.map
            yield from (_prose(line) for line in source[at:begin])
            yield from self._block(token.meta["block"])
            at = max(at, end)
            if at < len(source) and source[at].strip():
                yield TextLine("")
        yield from (_prose(line) for line in source[at:])

    def _block(self, number: int) -> Iterator[TextLine]:
        match self.resolved.document.blocks[number].block:
            case CommentBlock() as comment:
                found = self.resolved.locations.get(number, ())
                yield from self._comment(comment, found)
            case DiffBlock(range=written):
                yield from self._diff(written, self.resolved.diffs.get(number), number)
            case ActionBlock(button, message):
                yield TextLine(f"[ {button} ] tells the agent:", "heading")
                yield from self._barred(message)
            case DiagramBlock(source):
                yield TextLine("Diagram:", "faint")
                yield from self._barred(source)

    def _comment(self, comment: CommentBlock, found: Sequence[CodeRange]) -> Iterator[TextLine]:
        alone = f"{found[0].path}:{found[0].start.line}" if len(found) == 1 else None
        where = alone or expression_text(comment.location) or "no location"
        yield TextLine(f"{icon_of(comment.icon)} {where}", "heading")
        yield from self._barred(comment.text)
        if not found:
            yield TextLine(f"{self.drawing.bar} no location was found", "fault")
        for place in found[:MAX_PLACES]:
            if alone is None:
                yield TextLine(f"{self.drawing.bar} {place.path}:{place.start.line}", "faint")
            for line in self.excerpts.of(place).lines:
                sign, tone = (">", "meant") if line.is_meant else (" ", "faint")
                yield TextLine(f"{self.drawing.bar} {sign}{line.number:5}  {line.text}", tone)
        if len(found) > MAX_PLACES:
            left = len(found) - MAX_PLACES
            yield TextLine(f"{self.drawing.bar} and {left} more places", "faint")

    def _diff(self, written: str, found: Changes | None, number: int) -> Iterator[TextLine]:
        yield TextLine(f"Changes {written}", "heading")
        if found is None or not found.files:
            messages = (each.message for each in self.resolved.diagnostics if each.block == number)
            yield TextLine(
                f"{self.drawing.bar} {next(messages, '') or 'nothing has changed'}", "fault"
            )
            return
        for file in found.files:
            yield from self._file(file)

    def _file(self, file: FileChange) -> Iterator[TextLine]:
        bar = self.drawing.bar
        counts = f"+{file.additions} -{file.deletions}"
        yield TextLine(f"{bar} {file.path} ({file.status.lower()}, {counts})", "faint")
        left = MAX_DIFF_LINES
        for hunk in file.hunks:
            yield TextLine(f"{bar} {hunk.header}", "faint")
            for line in hunk.lines[:left]:
                text = f"{bar} {_SIGNS[line.line_type]}{line.content}"
                yield TextLine(text, _TONES[line.line_type])
            left -= len(hunk.lines)
            if left <= 0:
                break
        if file.is_cut or sum(len(hunk.lines) for hunk in file.hunks) > MAX_DIFF_LINES:
            yield TextLine(f"{bar} more changes are not shown", "faint")

    def _barred(self, text: str) -> Iterator[TextLine]:
        for line in text.split("\n"):
            folded = textwrap.wrap(line, self.drawing.width - 2, break_long_words=False)
            for each in folded or [""]:
                yield TextLine(f"{self.drawing.bar} {each}")


def _prose(line: str) -> TextLine:
    return TextLine(line, "heading" if line.startswith("#") else "plain")

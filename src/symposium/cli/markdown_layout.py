"""Markdown as lines for a terminal: styled with ANSI sequences and wrapped at words; no I/O.

Every text passes through `plain_text` after it was parsed: an entity such as `&#x202e;` is a
control character only then.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from prompt_toolkit.utils import get_cwidth

from localio.text import plain_text

BOLD: Final = "1"
DIM: Final = "2"
ITALIC: Final = "3"
UNDERLINE: Final = "4"
STRUCK: Final = "9"
CODE: Final = "36"

RULE_WIDTH: Final = 40
NARROWEST: Final = 8
"""Minimum columns of a text at any indentation."""

_ATOMS: Final = re.compile(r"\n| +|[^ \n]+")
_PARSER: Final = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_STYLES: Final = {"strong": BOLD, "em": ITALIC, "s": STRUCK, "link": UNDERLINE}
# Token types that may be the start of unfinished markup.
_OPENINGS: Final = re.compile(r"[*_~`\[<&\\!]")


@dataclass(frozen=True, slots=True)
class MarkdownSpan:
    """A text without control characters, and the codes of its style, such as `1;3`."""

    text: str
    style: str = ""


Line = Sequence[MarkdownSpan]


def markdown_lines(source: str, width: int, style: str = "") -> list[str]:
    """Format a Markdown text as lines; code stays unchanged, whatever its width.

    Args:
        source: Markdown; may come from an untrusted program.
        width: columns that a line may take.
        style: codes that all of it gets, such as `2` for dim.
    """
    tree = SyntaxTreeNode(_PARSER.parse(source))
    return [ansi(line, style) for line in _blocks(tree.children, max(width, NARROWEST))]


def is_settled(source: str) -> bool:
    """Whether no markup is open at the current end of a paragraph."""
    tree = SyntaxTreeNode(_PARSER.parse(source))
    return not any(
        node.type == "text" and _OPENINGS.search(node.content) for node in tree.walk()
    ) and not any(node.type == "table" for node in tree.walk())


def ansi(line: Line, style: str = "") -> str:
    """Format a line with ANSI sequences that end in the line."""
    return "".join(_styled(span, style) for span in _merged(line))


def _styled(span: MarkdownSpan, style: str) -> str:
    codes = ";".join(each for each in (style, span.style) if each)
    return f"\x1b[{codes}m{span.text}\x1b[0m" if codes and span.text else span.text


def _blocks(nodes: Sequence[SyntaxTreeNode], width: int) -> list[Line]:
    lines: list[Line] = []
    for number, node in enumerate(nodes):
        # In an item of a tight list the paragraph is hidden, and nothing separates it.
        if number and node.type not in {"bullet_list", "ordered_list"}:
            lines.append([])
        lines += _block(node, width)
    return lines


def _block(node: SyntaxTreeNode, width: int) -> list[Line]:
    lines: list[Line]
    match node.type:
        case "heading":
            style = f"{BOLD};{UNDERLINE}" if node.tag == "h1" else BOLD
            lines = wrapped(_inline(node, style), width)
        case "bullet_list" | "ordered_list":
            lines = [line for item in _items(node, width) for line in item]
        case "blockquote":
            quoted = _blocks(node.children, max(width - 2, NARROWEST))
            lines = [[MarkdownSpan("│ ", DIM), *line] for line in quoted]
        case "fence" | "code_block":
            lines = [[MarkdownSpan(_shown(each), CODE)] for each in node.content.splitlines()]
        case "table":
            lines = _table(node, width)
        case "hr":
            lines = [[MarkdownSpan("─" * min(RULE_WIDTH, width), DIM)]]
        case _:
            lines = wrapped(_inline(node), width)
    return lines


def _items(node: SyntaxTreeNode, width: int) -> Iterator[list[Line]]:
    first = int(node.attrs.get("start", 1))
    for number, item in enumerate(node.children, start=first):
        marker = "• " if node.type == "bullet_list" else f"{number}{item.markup or '.'} "
        lines = _blocks(item.children, max(width - len(marker), NARROWEST)) or [[]]
        leads = [marker, *(" " * len(marker) for _ in lines[1:])]
        yield [[MarkdownSpan(lead), *line] for lead, line in zip(leads, lines, strict=True)]


def _table(node: SyntaxTreeNode, width: int) -> list[Line]:
    """Rows with aligned columns; one cell below the other where they are too wide for that."""
    rows = [
        [_inline(cell, BOLD if cell.type == "th" else "") for cell in row.children]
        for part in node.children
        for row in part.children
    ]
    columns = [max(map(_width_of, column)) for column in zip_longest(*rows, fillvalue=())]
    if sum(columns) + 2 * (len(columns) - 1) > width:
        return [line for row in rows for line in _stacked(row, width)]
    lines: list[Line] = []
    for row in rows:
        line: list[MarkdownSpan] = []
        for cell, column in zip(row, columns, strict=False):
            line += [*cell, MarkdownSpan(" " * (column - _width_of(cell) + 2))]
        lines.append(line[:-1])
    rule = "  ".join("─" * column for column in columns)
    return [lines[0], [MarkdownSpan(rule, DIM)], *lines[1:]]


def _stacked(row: Sequence[Line], width: int) -> list[Line]:
    lines: list[Line] = []
    for number, cell in enumerate(row):
        lead = "- " if number == 0 else "  "
        found = wrapped(cell, max(width - 2, NARROWEST))
        lines += [[MarkdownSpan(lead if at == 0 else "  "), *each] for at, each in enumerate(found)]
    return lines


def _inline(node: SyntaxTreeNode, style: str = "") -> list[MarkdownSpan]:
    return [span for child in node.children for span in _spans(child, style)]


def _spans(node: SyntaxTreeNode, style: str) -> Iterator[MarkdownSpan]:
    match node.type:
        case "text" | "text_special":
            yield MarkdownSpan(_shown(node.content), style)
        case "softbreak" | "hardbreak":
            # An agent's own lines stay lines: many write lists and tables without any markup.
            yield MarkdownSpan("\n")
        case "code_inline":
            yield MarkdownSpan(_shown(node.content), _both(style, CODE))
        case "image":
            yield MarkdownSpan(
                _shown(f"[image: {node.content}] ({node.attrs.get('src', '')})"), style
            )
        case _:
            own = _both(style, _STYLES.get(node.type, ""))
            inner = [span for child in node.children for span in _spans(child, own)]
            yield from inner
            target = _shown(str(node.attrs.get("href", "")))
            if node.type == "link" and target != "".join(each.text for each in inner):
                yield MarkdownSpan(f" ({target})", _both(style, DIM))


def _shown(text: str) -> str:
    """Remove terminal controls from a text; tabs become spaces, also inside code."""
    return plain_text(text).expandtabs(4)


def _both(style: str, other: str) -> str:
    return ";".join(each for each in (style, other) if each)


def wrapped(spans: Line, width: int) -> list[Line]:
    """Wrap spans to lines of a maximum width, at spaces or else anywhere."""
    lines: list[list[MarkdownSpan]] = [[]]
    used, blank = 0, MarkdownSpan("")
    for atom in _atoms(spans):
        text = atom[0].text
        if text == "\n":
            lines.append([])
            used, blank = 0, MarkdownSpan("")
        elif text.startswith(" "):
            blank = atom[0]
        else:
            for part in _parts(atom, width):
                needed = _width_of(part)
                if used + len(blank.text) + needed > width:
                    blank = MarkdownSpan("")
                    if used:
                        lines.append([])
                        used = 0
                lines[-1] += [blank, *part] if blank.text else part
                used += len(blank.text) + needed
                blank = MarkdownSpan("")
    return list(lines)


def _atoms(spans: Line) -> Iterator[list[MarkdownSpan]]:
    """Words, blanks, and line feeds; a word may have several styles, as in `**bold**ly`."""
    word: list[MarkdownSpan] = []
    for span in spans:
        for found in _ATOMS.findall(span.text.expandtabs(4)):
            atom = MarkdownSpan(found, span.style)
            if found[0] not in " \n":
                word.append(atom)
                continue
            if word:
                yield word
                word = []
            yield [atom]
    if word:
        yield word


def _parts(word: Line, width: int) -> Iterator[list[MarkdownSpan]]:
    """The word, or its pieces where it may be broken: beside wide characters, or if too long."""
    if _width_of(word) <= width and all(each.text.isascii() for each in word):
        yield list(word)
        return
    part: list[MarkdownSpan] = []
    used, was_wide = 0, False
    for span in word:
        for each in span.text:
            columns = get_cwidth(each)
            is_wide = columns > 1
            if part and columns and (used + columns > width or is_wide or was_wide):
                yield _merged(part)
                part, used = [], 0
            part.append(MarkdownSpan(each, span.style))
            used += columns
            was_wide = is_wide or (was_wide and not columns)
    yield _merged(part)


def _merged(part: Line) -> list[MarkdownSpan]:
    groups = groupby(part, key=lambda each: each.style)
    return [MarkdownSpan("".join(each.text for each in group), style) for style, group in groups]


def _width_of(line: Line) -> int:
    return sum(get_cwidth(span.text) for span in line)

"""Parser for Markdown with blocks: comments, diffs, diagrams, and actions.

Raw HTML is treated as text: content of an agent or repository must never become markup.
"""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from symposium.documents.walkthroughs.document import (
    BLOCK,
    SCHEME,
    ActionBlock,
    Block,
    CommentBlock,
    DiagramBlock,
    DiffBlock,
    Document,
    LinkSpan,
    Note,
    Placed,
    WalkthroughError,
    converted,
    converted_reference,
)

KINDS: Final = ("comment", "gitdiff", "action", "mermaid")
"""Info strings of fences and names of elements; case-sensitive."""

DEFAULT_BUTTON: Final = "Action"
"""Default text of a button."""

_ATTRIBUTE: Final = re.compile(r"""([\w-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""")
_ARGUMENT: Final = re.compile(r"""\s*([\w-]+)(?:\s*[=:]\s*(?:"([^"]*)"|'([^']*)'|([^\s,"']+)))?""")


def block_of_fence(kind: str, body: str) -> Block:
    """Block of a fence.

    Args:
        kind: one of `KINDS`.
        body: the lines between the fences.
    """
    if kind == "mermaid":
        return DiagramBlock(body.rstrip("\n"))
    values, content = parameters(body)
    return block_of(kind, values, content)


def block_of(kind: str, values: Mapping[str, str], content: str) -> Block:
    """Block of a kind."""
    match kind:
        case "comment":
            return CommentBlock(values.get("location", ""), values.get("icon"), content)
        case "gitdiff":
            words = [*values, *content.split()]
            names = {word.replace("_", "-") for word in words}
            # As in the reference, a flag is set by its name, even if followed by `false`.
            is_staged_out, is_unstaged_out = "exclude-staged" in names, "exclude-unstaged" in names
            return DiffBlock(values.get("range", ""), is_unstaged_out, is_staged_out)
        case "action":
            return ActionBlock(values.get("button") or DEFAULT_BUTTON, content)
        case _:
            return DiagramBlock(content)


def parameters(body: str) -> tuple[dict[str, str], str]:
    """The `key: value` lines at the start of a body, and the rest.

    They end at a blank line, which is dropped, or at any other line, which is kept. Values are not
    unquoted; the last value of a repeated key counts.
    """
    values: dict[str, str] = {}
    lines = body.split("\n")
    while lines:
        key, colon, value = lines[0].strip().partition(":")
        if not colon or not _is_key(key):
            break
        values[key.strip()] = value.strip()
        lines.pop(0)
    return values, "\n".join(lines).strip("\n")


def attributes(text: str) -> dict[str, str]:
    """Attributes of an element; empty strings for those without a value."""
    return {
        found[1]: html.unescape(found[2] or found[3] or found[4] or "")
        for found in _ATTRIBUTE.finditer(text)
    }


def arguments(text: str) -> dict[str, str]:
    """Arguments of a call, such as `range="HEAD~1..HEAD", exclude-unstaged`."""
    return {found[1]: found[2] or found[3] or found[4] or "" for found in _ARGUMENT.finditer(text)}


def _is_key(text: str) -> bool:
    return bool(text) and all(each.isalnum() or each in "_ -" for each in text)


MAX_CHARACTERS: Final = 200_000
"""Maximum length of a walkthrough, in characters."""

MAX_BLOCKS: Final = 500
"""Maximum number of blocks."""

_MAX_ELEMENT: Final = 100_000
_MAX_TAG_LINES: Final = 20
_MAX_NOTES: Final = 100
_OPENING: Final = re.compile(
    r"""<(comment|gitdiff|action|mermaid)((?:\s+[\w-]+(?:\s*=\s*(?:"[^"]*"|'[^']*'))?)*)\s*(/?)>"""
)
_BEGINS: Final = re.compile(r"<(?:comment|gitdiff|action|mermaid)(?=[\s>/]|$)")
_CALL: Final = re.compile(r"gitdiff\(([^()]*)\)\s*")
_LOOSE: Final = re.compile(
    r"\[([^\[\]\n]{1,500})\]\((?:((?:[^()\n]|\([^()\n]{0,500}\)){1,2000})|([^)\n]{1,2000}))\)"
)
_REFERENCE: Final = re.compile(r"\[([^\[\]\n]{1,500})\]\[\]")


def parse_walkthrough(markdown: str) -> Document:
    """Parse a walkthrough.

    Raises:
        WalkthroughError: it is too long.
    """
    if len(markdown) > MAX_CHARACTERS:
        message = f"the walkthrough has {len(markdown)} characters, more than {MAX_CHARACTERS}"
        raise WalkthroughError(message, "split it")
    notes: list[Note] = []
    # Lone surrogates, which JSON can contain, are removed: no file can store them.
    markdown = markdown.encode(errors="replace").decode()
    tokens = _parser().parse(markdown, {"notes": notes})
    blocks = [_numbered(token, number) for number, token in enumerate(_block_tokens(tokens))]
    if len(blocks) > MAX_BLOCKS:
        message = f"the walkthrough has {len(blocks)} blocks, more than {MAX_BLOCKS}"
        raise WalkthroughError(message, "split it")
    return Document(markdown, tokens, blocks, list(_links(tokens, blocks)), notes)


def parse_text(markdown: str) -> Sequence[Token]:
    """Parse Markdown without blocks: the text of a comment."""
    return _prose().parse(markdown)


def _prose() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    # Links are checked and converted in one place, not by the parser.
    parser.normalizeLink = lambda url: url
    parser.validateLink = lambda url: url != ""
    parser.inline.ruler.after("link", "loose_link", _loose_link)
    parser.core.ruler.push("code_links", lambda state: _convert_links(state.tokens))
    return parser


def _parser() -> MarkdownIt:
    parser = _prose()
    interrupts: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.block.ruler.before("fence", "walkthrough_element", _element, interrupts)
    parser.block.ruler.before("fence", "walkthrough_call", _call, interrupts)
    return parser


def _block_tokens(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        if token.type == "fence" and (kind := token.info.strip()) in KINDS:
            token.type = BLOCK
            token.meta["block"] = block_of_fence(kind, token.content)
        if token.type == BLOCK:
            yield token


def _numbered(token: Token, number: int) -> Placed:
    block = cast("Block", token.meta["block"])
    token.meta["block"] = number
    return Placed(block, _line(token))


def _line(token: Token) -> int:
    return (token.map[0] if token.map else 0) + 1


def _element(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - markdown-it calls it so
    begin = state.bMarks[start] + state.tShift[start]
    if state.is_code_block(start) or not _BEGINS.match(state.src, begin, state.eMarks[start]):
        return False
    found = _closed(state, begin, start, end)
    if found is None:
        shown = state.src[begin : state.eMarks[start]][:80]
        _note(state, start, f"{shown}: the element is not closed")
        return False
    if silent:
        return True
    line, rest = start, ""
    while found is not None:
        block, last, rest = found
        _push(state, block, line, last + 1)
        line, rest = last, rest.strip(" \t")
        found = _closed(state, state.eMarks[line] - len(rest), line, end) if rest else None
    state.line = line + 1
    if rest:
        state.push("paragraph_open", "p", 1).map = [line, line + 1]
        inline = state.push("inline", "", 0)
        inline.content, inline.children, inline.map = rest, [], [line, line + 1]
        state.push("paragraph_close", "p", -1)
    return True


def _closed(state: StateBlock, begin: int, line: int, end: int) -> tuple[Block, int, str] | None:
    """Element that starts in a line, its last line, and the text after it in that line."""
    text = _text(state, begin, line, min(end, line + _MAX_TAG_LINES))
    opening = _OPENING.match(text)
    if opening is None:
        return None
    if not opening[3]:
        at = _next_closing(state, opening[1], begin + opening.end())
        if at < 0 or at - begin > _MAX_ELEMENT:
            return None
        last = line + state.src.count("\n", begin, at)
        if last >= end:
            return None
        text = _text(state, begin, line, last + 1)
    found = _whole(text, opening)
    if found is None:
        return None
    block, stop = found
    return block, line + text.count("\n", 0, stop), text[stop:].split("\n", 1)[0]


def _next_closing(state: StateBlock, kind: str, begin: int) -> int:
    """Position of the next end tag of a kind, or -1; scans the text once."""
    known = cast("dict[str, tuple[int, int]]", state.env.setdefault("closings", {}))
    since, at = known.get(kind, (len(state.src) + 1, -1))
    if begin < since or -1 < at < begin:
        at = state.src.find(f"</{kind}>", begin)
        known[kind] = begin, at
    return at


def _text(state: StateBlock, begin: int, line: int, end: int) -> str:
    """Text from a position in a line up to another line, without quote and list prefixes."""
    first = state.src[begin : state.eMarks[line]]
    if end <= line + 1:
        return first
    return f"{first}\n{state.getLines(line + 1, end, state.blkIndent, False)}"  # noqa: FBT003 - as markdown-it calls it


def _whole(text: str, opening: re.Match[str]) -> tuple[Block, int] | None:
    """Element at the start of a text, and its end; None if it is not closed."""
    kind, values = opening[1], attributes(opening[2])
    if opening[3]:
        return block_of(kind, values, ""), opening.end()
    closing = f"</{kind}>"
    end = text.find(closing, opening.end())
    if end < 0:
        return None
    content = text[opening.end() : end].strip("\n").strip()
    return block_of(kind, values, content), end + len(closing)


def _call(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - markdown-it calls it so
    del end
    begin = state.bMarks[start] + state.tShift[start]
    found = _CALL.fullmatch(state.src, begin, state.eMarks[start])
    if found is None or state.is_code_block(start):
        return False
    if not silent:
        _push(state, block_of("gitdiff", arguments(found[1]), ""), start, start + 1)
        state.line = start + 1
    return True


def _push(state: StateBlock, block: Block, start: int, end: int) -> None:
    token = state.push(BLOCK, "", 0)
    token.map = [start, end]
    token.meta["block"] = block
    token.block = True


def _note(state: StateBlock, line: int, message: str) -> None:
    notes = cast("list[Note]", state.env.get("notes", []))
    note = Note(message, line + 1)
    if note not in notes and len(notes) < _MAX_NOTES:
        notes.append(note)


def _loose_link(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - markdown-it calls it so
    """Links with spaces or brackets in the target, which CommonMark ignores; `[x][]`."""
    if state.src[state.pos] != "[":
        return False
    url: str | None = None
    if found := _LOOSE.match(state.src, state.pos, state.posMax):
        url = converted(found[2] or found[3])
    elif found := _REFERENCE.match(state.src, state.pos, state.posMax):
        url = converted_reference(found[1])
    if found is None or url is None or not url.startswith(SCHEME):
        return False
    if not silent:
        begin, end, last = found.start(1), found.end(1), state.posMax
        opening = state.push("link_open", "a", 1)
        opening.attrs = {"href": url}
        state.pos, state.posMax = begin, end
        state.linkLevel += 1
        state.md.inline.tokenize(state)
        state.linkLevel -= 1
        state.push("link_close", "a", -1)
        state.posMax = last
    state.pos = found.end()
    return True


def _convert_links(tokens: Sequence[Token]) -> None:
    for token in tokens:
        open_tags: list[str] = []
        for child in token.children or ():
            if child.type == "link_open":
                url = converted(str(child.attrs.get("href", "")))
                child.tag = "span" if url is None else "a"
                child.attrs = {} if url is None else {**child.attrs, "href": url}
                open_tags.append(child.tag)
            elif child.type == "link_close":
                child.tag = open_tags.pop()


def _links(tokens: Sequence[Token], blocks: Sequence[Placed]) -> Iterator[LinkSpan]:
    known: set[str] = set()
    spoken = [(token, _line(token)) for token in tokens]
    for placed in blocks:
        if isinstance(placed.block, CommentBlock):
            spoken += [(token, placed.line) for token in parse_text(placed.block.text)]
    for token, line in spoken:
        for child in token.children or ():
            url = str(child.attrs.get("href", "")) if child.type == "link_open" else ""
            if url.startswith(SCHEME) and url not in known:
                known.add(url)
                yield LinkSpan(url, line)

"""A walkthrough as data, and links to code.

symposium:PATH[?regex=R][&line=L]      L = n, n:c, n-m or n:c-m:d
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias
from urllib.parse import parse_qsl, quote, unquote

from markdown_it.token import Token

from symposium.errors import SymposiumError


class WalkthroughError(SymposiumError):
    """A walkthrough cannot be read, stored, or found."""


@dataclass(frozen=True, slots=True)
class CommentBlock:
    """An explanation of places in code.

    Attributes:
        location: Dialect program, unchanged; empty if missing.
        icon: icon name; None if missing.
        text: Markdown.
    """

    location: str
    icon: str | None
    text: str


@dataclass(frozen=True, slots=True)
class DiffBlock:
    """A diff of a commit range; the range is unchanged."""

    range: str
    excludes_unstaged: bool
    excludes_staged: bool


@dataclass(frozen=True, slots=True)
class ActionBlock:
    """A button and its message to the agent."""

    button: str
    message: str


@dataclass(frozen=True, slots=True)
class DiagramBlock:
    """Source of a Mermaid diagram."""

    source: str


Block: TypeAlias = CommentBlock | DiffBlock | ActionBlock | DiagramBlock


@dataclass(frozen=True, slots=True)
class Placed:
    """A block and its first line, counted from 1."""

    block: Block
    line: int


@dataclass(frozen=True, slots=True)
class LinkSpan:
    """A `symposium:` URL and its line, counted from 1."""

    url: str
    line: int


@dataclass(frozen=True, slots=True)
class Note:
    """Text that looks like a block but is not one."""

    message: str
    line: int


@dataclass(frozen=True, slots=True)
class Document:
    """A walkthrough.

    Attributes:
        markdown: the source text.
        tokens: Markdown tokens; a block has the type `BLOCK` and its number in `meta["block"]`.
        blocks: blocks in order.
        links: links to code, each URL once.
        notes: texts that look like blocks but are not.
    """

    markdown: str
    tokens: Sequence[Token]
    blocks: Sequence[Placed]
    links: Sequence[LinkSpan]
    notes: Sequence[Note]


BLOCK = "walkthrough_block"
"""Token type of a block."""


SCHEME: Final = "symposium:"
"""Prefix of links to code."""

_OLD_SCHEME: Final = "dialectic:"
_ABROAD: Final = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_NO_PATH: Final = re.compile(r"://|^(?:javascript|vbscript|data|file|blob|about):", re.IGNORECASE)
_LINES: Final = re.compile(r"(.+)#L(\d+)(?:-L?(\d+))?")
_LOCATION: Final = re.compile(r"(.+?):(\d{1,9})(?::\d{1,9})?(?:-(\d{1,9})(?::\d{1,9})?)?")
"""Positions in the format of compilers and editors: `path:42`, `path:42:7`, `path:42-50`."""
_FILE: Final = re.compile(r"([\w./\\+-]+\.\w+)(?::(\d+))?")
_SPAN: Final = re.compile(r"(\d{1,9})(?::(\d{1,9}))?(?:-(\d{1,9})(?::(\d{1,9}))?)?")
_FRAGMENT: Final = re.compile(r"L(\d{1,9})(?:-L?(\d{1,9}))?")
_UNQUOTED: Final = "/:@!$&'*+,;=~.-_"


@dataclass(frozen=True, slots=True)
class Span:
    """Lines, and columns if given, counted from 1."""

    line: int
    column: int | None = None
    last_line: int | None = None
    last_column: int | None = None


@dataclass(frozen=True, slots=True)
class CodeLink:
    """Target of a link: a file, a text to find in it, and fallback lines."""

    path: str
    regex: str | None
    span: Span | None


def converted(target: str) -> str | None:
    """URL for the target of a link; None if it is not allowed.

    Web links are unchanged; paths become `symposium:` URLs.
    """
    target = target.strip()
    if _ABROAD.match(target) or target.startswith("#"):
        return target
    for scheme in (SCHEME, _OLD_SCHEME):
        if target.startswith(scheme):
            url = SCHEME + target.removeprefix(scheme)
            return None if code_link(url) is None else url
    return None if not target or _NO_PATH.search(target) else _path_url(target)


def _path_url(target: str) -> str:
    path, mark, pattern = target.partition("?")
    if mark and path:
        return f"{SCHEME}{_quoted(path)}?regex={quote(unquote(pattern), safe='')}"
    if found := _LINES.fullmatch(target) or _LOCATION.fullmatch(target):
        span = found[2] if found[3] is None else f"{found[2]}-{found[3]}"
        return f"{SCHEME}{_quoted(found[1])}?line={span}"
    return SCHEME + _quoted(target)


def converted_reference(label: str) -> str | None:
    """URL for `[file.ext:42][]` or `[file.ext][]`; None if the label is not a file."""
    found = _FILE.fullmatch(label)
    if found is None:
        return None
    return f"{SCHEME}{_quoted(found[1])}" + (f"#L{found[2]}" if found[2] else "")


def code_link(url: str) -> CodeLink | None:
    """Parse a `symposium:` URL; None if it is not one. Unknown parts are ignored."""
    if not url.startswith(SCHEME):
        return None
    rest, _, fragment = url.removeprefix(SCHEME).partition("#")
    path, _, query = rest.partition("?")
    if not path:
        return None
    values = dict(parse_qsl(query, keep_blank_values=True))
    span = _span(values.get("line", "")) or _fragment(fragment)
    return CodeLink(unquote(path), values.get("regex") or None, span)


def _span(text: str) -> Span | None:
    found = _SPAN.fullmatch(text)
    if found is None:
        return None
    column, last, last_column = (None if each is None else int(each) for each in found.groups()[1:])
    return Span(int(found[1]), column, last, last_column)


def _fragment(text: str) -> Span | None:
    found = _FRAGMENT.fullmatch(text)
    if found is None:
        return None
    return Span(int(found[1]), last_line=None if found[2] is None else int(found[2]))


def _quoted(path: str) -> str:
    return quote(unquote(path), safe=_UNQUOTED)

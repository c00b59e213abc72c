"""Sections of Markdown: find the title, replace a section. No I/O."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from markdown_it import MarkdownIt

from symposium.documents.walkthroughs.document import WalkthroughError

UNTITLED: Final = "Walkthrough"
"""Title of a text without words."""

_MAX_TITLE: Final = 120


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: text, depth (1 for the title), and lines from 0 with an exclusive end."""

    text: str
    depth: int
    begin: int
    end: int


def headings(markdown: str) -> Iterator[Heading]:
    """Headings, except those in quotes, lists, and fences."""
    tokens = MarkdownIt("commonmark", {"html": False}).parse(markdown)
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            yield Heading(_plain(inline.content), int(token.tag[1:]), *token.map)


def title_of(markdown: str) -> str:
    """The first heading, otherwise the first words."""
    found = next(headings(markdown), None)
    lines = (line.strip() for line in markdown.split("\n"))
    text = found.text if found else next((line for line in lines if line), "")
    return text[:_MAX_TITLE] or UNTITLED


def appended(markdown: str, addition: str) -> str:
    """Both texts, separated by an empty line."""
    return f"{markdown.rstrip()}\n\n{addition.strip()}\n" if markdown.strip() else addition


def with_section(markdown: str, section: str, content: str) -> str:
    """Replace the content under a heading, including deeper headings.

    The heading stays, unless the content starts with one of the same depth.

    Raises:
        WalkthroughError: the heading does not exist, or exists more than once.
    """
    known = list(headings(markdown))
    wanted = section.strip().lstrip("#").strip()
    found = [each for each in known if each.text == wanted]
    if not found:
        names = ", ".join(repr(each.text) for each in known) or "none"
        message = f"the walkthrough has no section {wanted!r}"
        raise WalkthroughError(message, f"use one of its headings: {names}")
    if len(found) > 1:
        message = f"the walkthrough has {len(found)} sections {wanted!r}"
        raise WalkthroughError(message, "send the complete text with mode replace")
    heading = found[0]
    ends = (
        each.begin for each in known if each.begin > heading.begin and each.depth <= heading.depth
    )
    lines = markdown.split("\n")
    end = next(ends, len(lines))
    first = next(headings(content), None)
    is_whole = first is not None and first.begin == 0 and first.depth == heading.depth
    kept = lines[: heading.begin if is_whole else heading.end]
    parts = ["\n".join(kept).rstrip(), content.strip(), "\n".join(lines[end:]).strip()]
    return "\n\n".join(part for part in parts if part) + "\n"


def _plain(text: str) -> str:
    return " ".join(text.replace("`", "").split())

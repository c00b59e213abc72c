"""The sections of a Markdown text: its title, and one put in the place of another. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from markdown_it import MarkdownIt

from symposium.documents.walkthroughs.document import WalkthroughError

UNTITLED: Final = "Walkthrough"
"""The title of a text that has no words."""

_LONGEST_TITLE: Final = 120


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its text, its depth (1 is the title's), its lines from 0, the end exclusive."""

    text: str
    depth: int
    begin: int
    end: int


def headings(markdown: str) -> Iterator[Heading]:
    """The headings, but for those in quotes, lists and fences."""
    tokens = MarkdownIt("commonmark", {"html": False}).parse(markdown)
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            yield Heading(_plain(inline.content), int(token.tag[1:]), *token.map)


def title_of(markdown: str) -> str:
    """The first heading, else the first words."""
    found = next(headings(markdown), None)
    lines = (line.strip() for line in markdown.split("\n"))
    text = found.text if found else next((line for line in lines if line), "")
    return text[:_LONGEST_TITLE] or UNTITLED


def appended(markdown: str, addition: str) -> str:
    """Both, with an empty line between them."""
    return f"{markdown.rstrip()}\n\n{addition.strip()}\n" if markdown.strip() else addition


def with_section(markdown: str, section: str, content: str) -> str:
    """The text with another content under a heading; deeper headings under it go with the old.

    The heading stays, unless the content begins with one of the same depth.

    Raises:
        WalkthroughError: there is no such heading, or there are several.
    """
    known = list(headings(markdown))
    wanted = section.strip().lstrip("#").strip()
    found = [each for each in known if each.text == wanted]
    if not found:
        names = ", ".join(repr(each.text) for each in known) or "none"
        message = f"the walkthrough has no section {wanted!r}"
        raise WalkthroughError(message, f"name one of its headings: {names}")
    if len(found) > 1:
        message = f"the walkthrough has {len(found)} sections {wanted!r}"
        raise WalkthroughError(message, "give it whole, with mode replace")
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

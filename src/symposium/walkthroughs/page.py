"""A walkthrough as one HTML page that needs nothing but itself.

Nothing that was written in it is markup of its own, and a policy in the page forbids what is not
ours: scripts but those whose hash is named, and any request. The program that draws diagrams is in
the page if it has any.
"""

import gzip
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Final

from symposium.walkthroughs.document import ActionBlock, CommentBlock, DiagramBlock, DiffBlock
from symposium.walkthroughs.excerpts import Excerpts
from symposium.walkthroughs.links import SCHEME
from symposium.walkthroughs.markup import escaped, markup
from symposium.walkthroughs.page_blocks import (
    action_card,
    comment_card,
    diagram,
    diff_card,
    excerpt_table,
)
from symposium.walkthroughs.places import BlockDiagnostic, Resolved
from symposium.walkthroughs.sections import title_of

MERMAID: Final = "mermaid/mermaid-11.12.0.min.js.gz"
"""Draws diagrams; from npm, as it was published, compressed; its licence stands beside it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What stands at the head of a page beside the title, as in `version 3`."""

    about: Sequence[str] = ()


def page(resolved: Resolved, facts: Facts | None = None) -> str:
    """The page of a walkthrough; takes lines from the files that it speaks of."""
    building = _Page(resolved, Excerpts(resolved.workspace))
    body = markup(resolved.document.tokens, building.block, building.link)
    has_diagrams = any(isinstance(each.block, DiagramBlock) for each in resolved.document.blocks)
    style, script = _asset("page.css"), _asset("page.js")
    scripts = [_mermaid(), script] if has_diagrams else [script]
    title = title_of(resolved.document.markdown)
    about = [*(facts.about if facts else ()), *_counts(resolved)]
    parts = {
        "<!--policy-->": escaped(_policy(style, scripts, has_diagrams=has_diagrams)),
        "<!--title-->": escaped(title),
        "/*style*/": style,
        "<!--about-->": "".join(f"<span>{escaped(each)}</span>" for each in about),
        "<!--faults-->": _faults(resolved.diagnostics),
        "<!--body-->": body,
        "<!--places-->": building.places(),
        "<!--scripts-->": "".join(f"<script>{each}</script>" for each in scripts),
    }
    return _filled(_asset("page.html"), parts)


class _Page:
    """What one page is made of."""

    def __init__(self, resolved: Resolved, excerpts: Excerpts) -> None:
        self._resolved = resolved
        self._excerpts = excerpts
        self._linked: list[str] = []

    def block(self, number: int) -> str:
        match self._resolved.document.blocks[number].block:
            case CommentBlock() as comment:
                found = self._resolved.locations.get(number, ())
                return comment_card(number, comment, found, self._excerpts, self.link)
            case DiffBlock(range=written):
                return diff_card(written, self._resolved.diffs.get(number), self._reason(number))
            case ActionBlock() as action:
                return action_card(action)
            case DiagramBlock(source):
                return diagram(source)

    def link(self, url: str) -> str:
        if not url.startswith(SCHEME):
            return f'href="{escaped(url)}" rel="noreferrer noopener"'
        found = self._resolved.targets.get(url)
        if not found:
            return 'class="dead" title="this was not found"'
        if url not in self._linked:
            self._linked.append(url)
        place = self._linked.index(url)
        where = escaped(f"{found[0].path}:{found[0].start.line}")
        return f'class="place" href="#place-{place}" title="{where}"'

    def places(self) -> str:
        """The code that links lead to."""
        if not self._linked:
            return ""
        items = "".join(self._target(number, url) for number, url in enumerate(self._linked))
        return f'<section id="places"><h2>Places linked above</h2>{items}</section>'

    def _target(self, number: int, url: str) -> str:
        found = self._resolved.targets[url]
        excerpt = self._excerpts.of(found[0])
        more = f'<span class="faint"> and {len(found) - 1} more</span>' if len(found) > 1 else ""
        name = escaped(f"{excerpt.path}:{excerpt.line}")
        return (
            f'<details id="place-{number}"><summary><code>{name}</code>{more}</summary>'
            f"{excerpt_table(excerpt)}</details>"
        )

    def _reason(self, number: int) -> str:
        told = (each.message for each in self._resolved.diagnostics if each.block == number)
        return next(told, "")


def _counts(resolved: Resolved) -> list[str]:
    """What the program itself has counted; nobody has to believe the author."""
    comments = sum(isinstance(each.block, CommentBlock) for each in resolved.document.blocks)
    changed = {file.path for found in resolved.diffs.values() for file in found.files}
    told = [f"{comments} comment{'' if comments == 1 else 's'}"] if comments else []
    if changed:
        explained = {place.path for found in resolved.locations.values() for place in found}
        told.append(f"{len(changed & explained)} of {len(changed)} changed files commented on")
    return told


def _faults(diagnostics: Sequence[BlockDiagnostic]) -> str:
    faults = [each for each in diagnostics if each.is_fault]
    if not faults:
        return ""
    items = "".join(
        f"<li>line {each.line}, {each.kind}: {escaped(each.message)}</li>" for each in faults
    )
    count = f"{len(faults)} thing{'' if len(faults) == 1 else 's'}"
    return (
        f'<details class="faults"><summary>{count} could not be found</summary>'
        f"<ul>{items}</ul></details>"
    )


def _policy(style: str, scripts: Sequence[str], *, has_diagrams: bool) -> str:
    # What draws diagrams styles them as it goes: no hash can be known before.
    styles = "'unsafe-inline'" if has_diagrams else f"'{_hash(style)}'"
    hashes = " ".join(f"'{_hash(each)}'" for each in scripts)
    return (
        f"default-src 'none'; style-src {styles}; script-src {hashes}; "
        "base-uri 'none'; form-action 'none'"
    )


def _filled(template: str, parts: dict[str, str]) -> str:
    """The template with its marks replaced, each once: what is put in is not looked through."""
    done: list[str] = []
    rest = template
    for mark in sorted(parts, key=template.index):
        before, _, rest = rest.partition(mark)
        done += [before, parts[mark]]
    return "".join([*done, rest])


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _asset(name: str) -> str:
    return files("symposium.walkthroughs").joinpath(name).read_text(encoding="utf-8")


def _mermaid() -> str:
    packed = files("symposium.walkthroughs").joinpath(MERMAID).read_bytes()
    return gzip.decompress(packed).decode()

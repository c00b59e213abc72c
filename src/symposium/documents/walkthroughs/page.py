"""A walkthrough as one HTML page.

Its text never becomes markup. A content security policy forbids requests and all scripts but the
page's own, by hash. The diagram renderer is included only if the page has diagrams.
"""

import gzip
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Final

from symposium.code.diffs import Changes, FileChange, Hunk
from symposium.code.ide_operations import CodeRange
from symposium.documents.walkthroughs.document import (
    SCHEME,
    ActionBlock,
    CommentBlock,
    DiagramBlock,
    DiffBlock,
)
from symposium.documents.walkthroughs.grammar import parse_text
from symposium.documents.walkthroughs.places import BlockDiagnostic, Resolved
from symposium.documents.walkthroughs.rendering import (
    Excerpt,
    Excerpts,
    escaped,
    expression_text,
    icon_of,
    markup,
)
from symposium.documents.walkthroughs.sections import title_of

MAX_PLACES: Final = 8
"""Maximum number of places shown per comment."""

MAX_DIFF_LINES: Final = 1500
"""Maximum number of diff lines per file."""

MAX_FILES: Final = 200
"""Maximum number of files with diff lines per diff."""

_ROWS: Final = {"Added": ("add", "+"), "Removed": ("del", "−"), "Context": ("", "")}  # noqa: RUF001 - a minus


def comment_card(
    number: int,
    comment: CommentBlock,
    found: Sequence[CodeRange],
    excerpts: Excerpts,
    link: Callable[[str], str],
) -> str:
    """A comment next to its code."""
    shown = [excerpts.of(place) for place in found[:MAX_PLACES]]
    title = shown[0] if len(shown) == 1 else None
    heading = (
        f"{title.path}:{title.line}" if title else expression_text(comment.location).strip("`")
    )
    places = "".join(_place(each, is_alone=len(shown) == 1) for each in shown)
    left = len(found) - len(shown)
    if left > 0:
        places += f'<p class="faint">and {left} more places</p>'
    if not shown:
        places = '<p class="missing">no location was found</p>'
    return (
        f'<section class="comment" id="stop-{number}" data-stop>'
        f'<div class="words"><p class="where"><span class="icon" aria-hidden="true">'
        f"{icon_of(comment.icon)}</span> <code>{escaped(heading)}</code></p>"
        f"{markup(parse_text(comment.text), _no_block, link)}</div>"
        f'<div class="code">{places}</div></section>'
    )


def _no_block(number: int) -> str:
    raise AssertionError(f"a comment cannot contain block {number}")


def _place(excerpt: Excerpt, *, is_alone: bool) -> str:
    name = escaped(f"{excerpt.path}:{excerpt.line}")
    body = excerpt_table(excerpt)
    if is_alone:
        return body
    return f"<details><summary><code>{name}</code></summary>{body}</details>"


def excerpt_table(excerpt: Excerpt) -> str:
    """Lines of code with their numbers."""
    if not excerpt.lines:
        return '<p class="missing">the file cannot be shown</p>'
    rows = "".join(
        f'<tr{" class=meant" if line.is_meant else ""}><td class="n">{line.number}</td>'
        f"<td><code>{escaped(line.text)}</code></td></tr>"
        for line in excerpt.lines
    )
    more = f'<p class="faint">{excerpt.left_out} more lines</p>' if excerpt.left_out else ""
    label = escaped(f"{excerpt.path}, from line {excerpt.lines[0].number}")
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
        f'<table class="source">{rows}</table></div>{more}'
    )


def action_card(action: ActionBlock) -> str:
    """A button; a page cannot send its message, so the text can be copied."""
    return (
        f'<section class="action"><p><span class="button">{escaped(action.button)}</span>'
        '<span class="faint"> tells the agent</span>'
        '<button type="button" class="copy" hidden>Copy</button></p>'
        f"<pre>{escaped(action.message)}</pre></section>"
    )


def diagram(source: str) -> str:
    """A diagram: its source, until the page's script has drawn it."""
    return (
        '<figure class="diagram"><div class="drawing" role="img" aria-label="Diagram" hidden></div>'
        '<p class="missing" hidden></p><details open><summary>Source of the diagram</summary>'
        f"<pre>{escaped(source)}</pre></details></figure>"
    )


def diff_card(written: str, found: Changes | None, reason: str) -> str:
    """Changes, file by file."""
    if found is None or not found.files:
        said = escaped(reason) or "nothing has changed"
        return (
            f'<section class="diff"><p class="range">Changes <code>{escaped(written)}</code></p>'
            f'<p class="missing">{said}</p></section>'
        )
    files = found.files
    added, removed = sum(each.additions for each in files), sum(each.deletions for each in files)
    shown = "".join(_file(each, is_open=len(files) <= 3) for each in files[:MAX_FILES])  # noqa: PLR2004 - up to three are open
    left = len(files) - MAX_FILES
    # If git's output was cut, the number of files is unknown.
    number = "" if found.is_cut else f"{left} "
    more = f"<p>and {number}more files</p>" if left > 0 or found.is_cut else ""
    count = f"{len(files)} file{'' if len(files) == 1 else 's'}"
    return (
        f'<section class="diff"><p class="range">Changes <code>{escaped(written)}</code> '
        f'<span class="faint">{count}</span> {_line_counts(added, removed)}'
        '<button type="button" class="sides" hidden aria-pressed="false">Side by side</button></p>'
        f"{shown}{more}</section>"
    )


def _line_counts(added: int, removed: int) -> str:
    minus = f"−{removed}"  # noqa: RUF001 - a minus
    return f'<span class="plus">+{added}</span> <span class="minus">{minus}</span>'


def _file(file: FileChange, *, is_open: bool) -> str:
    name = file.path if file.old_path is None else f"{file.old_path} → {file.path}"
    left = MAX_DIFF_LINES
    parts: list[str] = []
    for hunk in file.hunks:
        parts.append(_hunk(hunk, left))
        left -= len(hunk.lines)
        if left <= 0:
            break
    if file.is_binary:
        body = '<p class="faint">binary</p>'
    elif parts:
        rows = "".join(parts)
        label = escaped(f"Changes of {file.path}")
        body = (
            f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
            f'<table class="lines">{rows}</table></div>'
        )
    else:
        body = '<p class="faint">no lines</p>'
    if file.is_cut or sum(len(hunk.lines) for hunk in file.hunks) > MAX_DIFF_LINES:
        body += '<p class="faint">more changes are not shown</p>'
    return (
        f"<details class=file{' open' if is_open else ''}><summary><code>{escaped(name)}</code> "
        f'<span class="faint">{file.status.lower()}</span> '
        f"{_line_counts(file.additions, file.deletions)}</summary>{body}</details>"
    )


def _hunk(hunk: Hunk, most: int) -> str:
    rows = [
        f'<tbody><tr class="hunk"><td colspan="4"><code>{escaped(hunk.header)}</code></td></tr>'
    ]
    for line in hunk.lines[:most]:
        kind, sign = _ROWS[line.line_type]
        old = "" if line.old_line_number is None else str(line.old_line_number)
        new = "" if line.new_line_number is None else str(line.new_line_number)
        rows.append(
            f'<tr class="{kind}"><td class="n">{old}</td><td class="n">{new}</td>'
            f'<td class="sign">{sign}</td><td><code>{escaped(line.content[:2000])}</code></td></tr>'
        )
    return "".join(rows) + "</tbody>"


MERMAID: Final = "mermaid/mermaid-11.12.0.min.js.gz"
"""Draws diagrams; the unchanged npm release, compressed; the license is next to it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Text next to the title of a page, such as `version 3`."""

    about: Sequence[str] = ()


def page(resolved: Resolved, facts: Facts | None = None) -> str:
    """Page of a walkthrough, with excerpts of the referenced files."""
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
    """Content of one page."""

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
        """Code excerpts for links."""
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
        messages = (each.message for each in self._resolved.diagnostics if each.block == number)
        return next(messages, "")


def _counts(resolved: Resolved) -> list[str]:
    """Counts by Symposium itself, independent of the author."""
    comments = sum(isinstance(each.block, CommentBlock) for each in resolved.document.blocks)
    changed = {file.path for found in resolved.diffs.values() for file in found.files}
    counts = [f"{comments} comment{'' if comments == 1 else 's'}"] if comments else []
    if changed:
        explained = {place.path for found in resolved.locations.values() for place in found}
        counts.append(f"{len(changed & explained)} of {len(changed)} changed files commented on")
    return counts


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
    # The diagram renderer sets styles while drawing, so their hashes are unknown.
    styles = "'unsafe-inline'" if has_diagrams else f"'{_hash(style)}'"
    hashes = " ".join(f"'{_hash(each)}'" for each in scripts)
    return (
        f"default-src 'none'; style-src {styles}; script-src {hashes}; "
        "base-uri 'none'; form-action 'none'"
    )


def _filled(template: str, parts: dict[str, str]) -> str:
    """Fill the template; inserted text is not searched for placeholders."""
    done: list[str] = []
    rest = template
    for mark in sorted(parts, key=template.index):
        before, _, rest = rest.partition(mark)
        done += [before, parts[mark]]
    return "".join([*done, rest])


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _asset(name: str) -> str:
    return files("symposium.documents.walkthroughs").joinpath(name).read_text(encoding="utf-8")


def _mermaid() -> str:
    packed = files("symposium.documents.walkthroughs").joinpath(MERMAID).read_bytes()
    return gzip.decompress(packed).decode()

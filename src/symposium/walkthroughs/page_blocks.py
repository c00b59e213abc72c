"""The blocks of a walkthrough as they stand on the page; every text in them is escaped."""

from collections.abc import Callable, Sequence
from typing import Final

from symposium.diffs.model import Changes, FileChange, Hunk
from symposium.ide.operations import FileRange
from symposium.walkthroughs.document import ActionBlock, CommentBlock
from symposium.walkthroughs.excerpts import Excerpt, Excerpts
from symposium.walkthroughs.grammar import parse_text
from symposium.walkthroughs.markup import escaped, markup
from symposium.walkthroughs.wording import expression_text, icon_of

MOST_PLACES: Final = 8
"""Places of one comment whose code is shown."""

MOST_DIFF_LINES: Final = 1500
"""Lines of one file's diff that are shown."""

MOST_FILES: Final = 200
"""Files of one diff whose lines are shown."""

_ROWS: Final = {"Added": ("add", "+"), "Removed": ("del", "−"), "Context": ("", "")}  # noqa: RUF001 - a minus


def comment_card(
    number: int,
    comment: CommentBlock,
    found: Sequence[FileRange],
    excerpts: Excerpts,
    link: Callable[[str], str],
) -> str:
    """A comment, with its code beside it."""
    shown = [excerpts.of(place) for place in found[:MOST_PLACES]]
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
    raise AssertionError(f"no block stands in a comment: {number}")


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
    """A button: on a page nobody is told anything, so that what it tells can be copied."""
    return (
        f'<section class="action"><p><span class="button">{escaped(action.button)}</span>'
        '<span class="faint"> tells the agent</span>'
        '<button type="button" class="copy" hidden>Copy</button></p>'
        f"<pre>{escaped(action.message)}</pre></section>"
    )


def diagram(source: str) -> str:
    """A diagram: its source until the page's script has drawn it, and where none runs."""
    return (
        '<figure class="diagram"><div class="drawing" role="img" aria-label="Diagram" hidden></div>'
        '<p class="missing" hidden></p><details open><summary>Source of the diagram</summary>'
        f"<pre>{escaped(source)}</pre></details></figure>"
    )


def diff_card(written: str, found: Changes | None, reason: str) -> str:
    """What has changed, file by file."""
    if found is None or not found.files:
        said = escaped(reason) or "nothing has changed"
        return (
            f'<section class="diff"><p class="range">Changes <code>{escaped(written)}</code></p>'
            f'<p class="missing">{said}</p></section>'
        )
    files = found.files
    added, removed = sum(each.additions for each in files), sum(each.deletions for each in files)
    shown = "".join(_file(each, is_open=len(files) <= 3) for each in files[:MOST_FILES])  # noqa: PLR2004 - few
    left = len(files) - MOST_FILES
    more = f"<p>and {left} more files</p>" if left > 0 or found.is_cut else ""
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
    left = MOST_DIFF_LINES
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
    if file.is_cut or sum(len(hunk.lines) for hunk in file.hunks) > MOST_DIFF_LINES:
        body += '<p class="faint">there is more than is shown</p>'
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

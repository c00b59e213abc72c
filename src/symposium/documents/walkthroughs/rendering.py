"""HTML of blocks, code excerpts, and the fragment for a viewer."""

import html
import json
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from localio.errors import ExplainedError
from localio.files import regular_content
from symposium.code.diffs import Changes, FileChange
from symposium.code.ide_operations import CodeRange
from symposium.code.query.evaluator import new_id as unique_id
from symposium.code.query.functions import DialectWorkspace, IdePort, workspace
from symposium.code.query.parser import DialectCall, Expression, Literal, parse
from symposium.documents.walkthroughs.document import (
    ActionBlock,
    CommentBlock,
    DiagramBlock,
    DiffBlock,
    Document,
)
from symposium.documents.walkthroughs.grammar import parse_walkthrough
from symposium.documents.walkthroughs.places import BlockDiagnostic, Resolved, resolve

_Environment: TypeAlias = MutableMapping[str, Any]
_OPTIONS: Final = MarkdownIt("commonmark", {"html": False}).options


def escaped(text: str) -> str:
    """Escape text for an element or a quoted attribute."""
    return html.escape(text, quote=True)


def markup(
    tokens: Sequence[Token], block: Callable[[int], str], link: Callable[[str], str] | None = None
) -> str:
    """Render Markdown tokens as HTML; `block` returns the HTML of a block, by its number.

    `link` returns the attributes of an `a` element for a URL; the default is its `href`.
    """
    return str(_Renderer(block, link or _href).render(tokens, _OPTIONS, {}))


class _Renderer(RendererHTML):
    """Renderer with a method per token type."""

    def __init__(self, block: Callable[[int], str], link: Callable[[str], str]) -> None:
        super().__init__()
        self._block = block
        self._link = link

    def walkthrough_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: _Environment
    ) -> str:
        del options, env
        return self._block(tokens[idx].meta["block"])

    def link_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: _Environment
    ) -> str:
        del options, env
        token = tokens[idx]
        return f"<a {self._link(str(token.attrs['href']))}>" if token.tag == "a" else "<span>"

    def image(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: _Environment
    ) -> str:
        # Not loaded: the request would reveal the reader to the image's server.
        del options, env
        token = tokens[idx]
        source = escaped(str(token.attrs.get("src", "")))
        return f'<span class="image" title="{source}">🖼 {escaped(token.content) or source}</span>'


def _href(url: str) -> str:
    return f'href="{escaped(url)}"'


_ICONS: Final = {
    "info": "ℹ️",  # noqa: RUF001 - the sign for information
    "lightbulb": "💡",
    "gear": "⚙️",
    "warning": "⚠️",
    "question": "❓",
}


def icon_of(name: str | None) -> str:
    """Emoji of an icon; default: a speech balloon."""
    return _ICONS.get(name or "", "💬")


def locations_text(locations: Sequence[CodeRange]) -> str:
    """Text for the locations of a comment: a place, a number, or none."""
    match list(locations):
        case []:
            return "no location"
        case [only]:
            return f"{only.path}:{only.start.line}"
        case several:
            return f"({len(several)} possible locations) 🔍"


def expression_text(location: str) -> str:
    """A location in words; unchanged if there is no short form."""
    try:
        expression = parse(location)
    except ExplainedError:
        return location
    return _short(expression) or location


def _short(expression: Expression) -> str | None:
    match expression:
        case DialectCall("findDefinition", [Literal(str(name))]):
            return f"`{name}`"
        case DialectCall("findReferences", [Literal(str(name))]):
            return f"References to `{name}`"
        case DialectCall("search", [Literal(str()), Literal(str(regex)), *_]):
            return f"/{regex}/"
        case DialectCall("lines", [Literal(str(path)), Literal(int(first)), Literal(int(last))]):
            return f"`{path}:{first}-{last}`"
        case _:
            return None


CONTEXT_LINES: Final = 3
"""Number of lines shown before and after a place."""

MAX_LINES: Final = 40
"""Maximum number of lines shown per place."""

MAX_FILE_BYTES: Final = 4 * 1024 * 1024
"""Maximum size of a file for excerpts, in bytes."""

MAX_LINE: Final = 400
"""Maximum number of characters shown per line."""


@dataclass(frozen=True, slots=True)
class ExcerptLine:
    """A line of a file: number from 1, text, and whether it is part of the place."""

    number: int
    text: str
    is_meant: bool


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A place in code.

    Attributes:
        path: displayed path.
        line: first line.
        lines: empty if the file is unreadable.
        left_out: number of omitted lines.
    """

    path: str
    line: int
    lines: Sequence[ExcerptLine]
    left_out: int


@dataclass(slots=True)
class Excerpts:
    """Read excerpts from the files of a workspace; each file is read once."""

    workspace: DialectWorkspace
    _files: dict[Path, Sequence[str]] = field(default_factory=dict[Path, Sequence[str]])

    def of(self, place: CodeRange) -> Excerpt:
        """Lines of a place with their context."""
        lines = self._lines(place.path)
        first = place.start.line
        last = max(place.end.line, first)
        shown_last = min(last, first + MAX_LINES - 1)
        begin, end = max(first - CONTEXT_LINES, 1), min(shown_last + CONTEXT_LINES, len(lines))
        if last > shown_last:
            end = min(shown_last, len(lines))
        shown = [
            ExcerptLine(number, _cut(lines[number - 1]), first <= number <= last)
            for number in range(begin, end + 1)
        ]
        left_out = max(min(last, len(lines)) - shown_last, 0)
        return Excerpt(place.path, first, shown if first <= len(lines) else [], left_out)

    def _lines(self, path: str) -> Sequence[str]:
        try:
            found = self.workspace.find(path)
            if found not in self._files:
                self._files[found] = _read(found)
        except (ExplainedError, OSError):
            return []
        return self._files[found]


def _read(path: Path) -> Sequence[str]:
    try:
        content = regular_content(path, MAX_FILE_BYTES)
    except ValueError:
        return []
    text = content.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}…"


MAX_DIFF_LINES: Final = 400
"""Maximum number of diff lines sent per file."""

MAX_DIFF_FILES: Final = 50
"""Maximum number of files with diff lines sent per diff."""

_ITEM: Final = (
    "border:1px solid var(--vscode-panel-border);border-radius:4px;"
    "padding:8px;margin:8px 0;cursor:pointer"
)
_FAINT: Final = "color:var(--vscode-descriptionForeground);font-size:0.9em"
_CODE: Final = "font-family:var(--vscode-editor-font-family);overflow:auto"
_BUTTON: Final = (
    "background:var(--vscode-button-background);color:var(--vscode-button-foreground);"
    "border:none;padding:8px 16px;border-radius:4px;margin:8px 0;cursor:pointer"
)
_SIGNS: Final = {"Added": "+", "Removed": "-", "Context": " "}


def fragment(resolved: Resolved, new_id: Callable[[], str]) -> str:
    """HTML of a walkthrough, with all its text escaped.

    Args:
        resolved: the walkthrough.
        new_id: makes the part after `comment-` in a comment's id.
    """

    def render(number: int) -> str:
        match resolved.document.blocks[number].block:
            case CommentBlock() as comment:
                found = resolved.locations.get(number, ())
                return _comment(comment, found, f"comment-{new_id()}")
            case DiffBlock(range=written):
                return _diff(written, resolved.diffs.get(number))
            case ActionBlock(button, message):
                title = escaped(message)
                return (
                    f'<button class="action-button" data-tell-agent="{title}" title="{title}"'
                    f' style="{_BUTTON}">{escaped(button)}</button>'
                )
            case DiagramBlock(source):
                # Arrows are not escaped: some viewers read this as text, others as markup.
                text = source.replace("&", "&amp;").replace("<", "&lt;")
                return f"<mermaid>{text}</mermaid>"

    return markup(resolved.document.tokens, render)


def _comment(comment: CommentBlock, found: Sequence[CodeRange], comment_id: str) -> str:
    body = {"id": comment_id, "locations": msgspec.to_builtins(found), "comment": [comment.text]}
    # Viewers of the first protocol decode this as a URI, which a bare percent sign breaks.
    written = json.dumps(body).replace("%", "\\u0025")
    return (
        f'<div class="comment-item" data-comment="{escaped(written)}" style="{_ITEM}">'
        '<div style="display:flex;align-items:flex-start">'
        f'<div class="comment-icon" style="margin-right:8px">{icon_of(comment.icon)}</div>'
        '<div class="comment-content" style="flex:1">'
        f'<div class="comment-expression" style="font-weight:500">'
        f"{escaped(expression_text(comment.location))}</div>"
        f'<div class="comment-locations" style="{_FAINT}">{escaped(locations_text(found))}</div>'
        f'<div class="comment-text">{escaped(comment.text)}</div>'
        "</div></div></div>"
    )


def _diff(written: str, found: Changes | None) -> str:
    head = f'<div class="gitdiff-range" style="{_FAINT}">{escaped(written)}</div>'
    files = found.files if found else []
    shown = "".join(_file(each) for each in files[:MAX_DIFF_FILES])
    left = len(files) - MAX_DIFF_FILES
    more = f"<p>… {left} more files</p>" if left > 0 else ""
    return f'<div class="gitdiff-container">{head}{shown}{more}</div>'


def _file(file: FileChange) -> str:
    lines = [
        f"{_SIGNS[line.line_type]}{line.content}" for hunk in file.hunks for line in hunk.lines
    ]
    if len(lines) > MAX_DIFF_LINES:
        lines[MAX_DIFF_LINES:] = [f"… {len(lines) - MAX_DIFF_LINES} more lines"]
    summary = f"{file.path} ({file.status}, +{file.additions} −{file.deletions})"  # noqa: RUF001 - a minus
    text = escaped("\n".join(lines))
    return (
        f'<details class="gitdiff-file"><summary>{escaped(summary)}</summary>'
        f'<pre style="{_CODE}">{text}</pre></details>'
    )


@dataclass(frozen=True, slots=True)
class Presentation:
    """A walkthrough ready for display.

    Attributes:
        resolved: the resolved document.
        html: HTML for viewers of the first protocol.
    """

    resolved: Resolved
    html: str

    @property
    def document(self) -> Document:
        return self.resolved.document

    @property
    def diagnostics(self) -> Sequence[BlockDiagnostic]:
        """Results of all blocks and links."""
        return self.resolved.diagnostics


async def present(
    markdown: str, base_uri: str, port: IdePort, *, new_id: Callable[[], str] = unique_id
) -> Presentation:
    """Parse and resolve a walkthrough.

    Args:
        markdown: text by an agent.
        base_uri: base folder of relative paths, as a path or a `file` URI.
        port: IDE operations.
        new_id: makes ids for comments.

    Raises:
        WalkthroughError: it is too long.
        ExplainedError: the base is not a folder.
    """
    resolved = await resolve(parse_walkthrough(markdown), workspace(base_uri), port)
    return Presentation(resolved, fragment(resolved, new_id))

"""The HTML that a viewer of the first protocol is sent (bus-mcp-taskspaces §4.3)."""

import json
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from symposium.diffs.model import Changes, FileChange
from symposium.ide.operations import FileRange
from symposium.walkthroughs.document import ActionBlock, CommentBlock, DiagramBlock, DiffBlock
from symposium.walkthroughs.markup import escaped, markup
from symposium.walkthroughs.places import Resolved
from symposium.walkthroughs.wording import expression_text, icon_of, locations_text

MOST_DIFF_LINES: Final = 400
"""Lines of one file's diff that are sent."""

MOST_DIFF_FILES: Final = 50
"""Files of one diff whose lines are sent."""

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
    """The HTML of a walkthrough; everything that was written in it is escaped.

    Args:
        resolved: the walkthrough.
        new_id: makes what follows `comment-` in the id of a comment.
    """

    def render(number: int) -> str:
        match resolved.document.blocks[number].block:
            case CommentBlock() as comment:
                found = resolved.locations.get(number, ())
                return _comment(comment, found, f"comment-{new_id()}")
            case DiffBlock(range=written):
                return _diff(written, resolved.diffs.get(number))
            case ActionBlock(button, message):
                told = escaped(message)
                return (
                    f'<button class="action-button" data-tell-agent="{told}" title="{told}"'
                    f' style="{_BUTTON}">{escaped(button)}</button>'
                )
            case DiagramBlock(source):
                # Arrows stay as they are: some viewers read this as text, some as markup.
                text = source.replace("&", "&amp;").replace("<", "&lt;")
                return f"<mermaid>{text}</mermaid>"

    return markup(resolved.document.tokens, render)


def _comment(comment: CommentBlock, found: Sequence[FileRange], comment_id: str) -> str:
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
    shown = "".join(_file(each) for each in files[:MOST_DIFF_FILES])
    left = len(files) - MOST_DIFF_FILES
    more = f"<p>… {left} more files</p>" if left > 0 else ""
    return f'<div class="gitdiff-container">{head}{shown}{more}</div>'


def _file(file: FileChange) -> str:
    lines = [
        f"{_SIGNS[line.line_type]}{line.content}" for hunk in file.hunks for line in hunk.lines
    ]
    if len(lines) > MOST_DIFF_LINES:
        lines[MOST_DIFF_LINES:] = [f"… {len(lines) - MOST_DIFF_LINES} more lines"]
    summary = f"{file.path} ({file.status}, +{file.additions} −{file.deletions})"  # noqa: RUF001 - a minus
    text = escaped("\n".join(lines))
    return (
        f'<details class="gitdiff-file"><summary>{escaped(summary)}</summary>'
        f'<pre style="{_CODE}">{text}</pre></details>'
    )

"""What has changed since the user last said yes, as lines to read."""

import difflib
from typing import Final

from localio.text import plain_text

MOST_LINES: Final = 200
"""Lines that are shown; how many more there are is said."""


def difference(old: bytes | None, new: bytes) -> str:
    """A unified diff for people, without control characters; words where there can be none."""
    if old is None:
        return "(the content that was trusted before is not kept any more)"
    if old == new:
        return "(the content is the same; a link on the way to it leads elsewhere)"
    before, after = _text_lines(old), _text_lines(new)
    if before is None or after is None:
        return f"(not text: {len(old)} bytes before, {len(new)} now)"
    lines = list(difflib.unified_diff(before, after, "trusted before", "now", lineterm=""))
    shown = lines[:MOST_LINES]
    if len(lines) > MOST_LINES:
        shown.append(f"(and {len(lines) - MOST_LINES} more lines)")
    return "\n".join(shown)


def _text_lines(content: bytes) -> list[str] | None:
    try:
        return plain_text(content.decode()).split("\n")
    except UnicodeDecodeError:
        return None

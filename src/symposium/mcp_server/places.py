"""Places in code as lines for an agent to read."""

from collections.abc import Sequence
from typing import Final

from symposium.code.operations import FileRange

MOST_LINES: Final = 200
"""Places that are written out; the structured result has them all."""


def as_lines(rows: Sequence[tuple[str, FileRange]], what: str) -> str:
    """One line for each place: label, path, line, column, and the line of code."""
    if not rows:
        return f"No {what} was found."
    lines = [_line(label, place) for label, place in rows[:MOST_LINES]]
    if len(rows) > MOST_LINES:
        lines.append(f"(and {len(rows) - MOST_LINES} more)")
    return "\n".join([f"{len(rows)} {what}(s):", *lines])


def _line(label: str, place: FileRange) -> str:
    code = f"  {place.content.strip()}" if place.content else ""
    where = f"{place.path}:{place.start.line}:{place.start.column}"
    return " ".join(filter(None, [label, where])) + code

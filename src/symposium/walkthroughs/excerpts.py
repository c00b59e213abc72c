"""The lines of code around a place, for whoever looks at a walkthrough elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from localio.errors import ExplainedError
from localio.files import regular_content
from symposium.ide.dialect.workspace import Workspace
from symposium.ide.operations import FileRange

AROUND: Final = 3
"""Lines before and after a place."""

MOST_LINES: Final = 40
"""Lines of one place that are shown."""

MOST_FILE_BYTES: Final = 4 * 1024 * 1024
"""Bytes of the largest file that excerpts are taken from."""

LONGEST_LINE: Final = 400
"""Characters of a line that are shown."""


@dataclass(frozen=True, slots=True)
class ExcerptLine:
    """A line of a file: its number from 1, its text, whether it is part of the place."""

    number: int
    text: str
    is_meant: bool


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A place in code.

    Attributes:
        path: as it is shown.
        line: where it begins.
        lines: none if the file cannot be read.
        left_out: lines of the place that are not shown.
    """

    path: str
    line: int
    lines: Sequence[ExcerptLine]
    left_out: int


@dataclass(slots=True)
class Excerpts:
    """Takes excerpts from the files of a workspace, each file read once."""

    workspace: Workspace
    _files: dict[Path, Sequence[str]] = field(default_factory=dict[Path, Sequence[str]])

    def of(self, place: FileRange) -> Excerpt:
        """The lines of a place and those around it."""
        lines = self._lines(place.path)
        first = place.start.line
        last = max(place.end.line, first)
        shown_last = min(last, first + MOST_LINES - 1)
        begin, end = max(first - AROUND, 1), min(shown_last + AROUND, len(lines))
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
        content = regular_content(path, MOST_FILE_BYTES)
    except ValueError:
        return []
    text = content.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"

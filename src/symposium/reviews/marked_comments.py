"""Comments that an author has marked in code: explanations, questions, things to do. Pure."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from symposium.diffs.model import FileChange
from symposium.reviews.model import CommentThread, CommentType

_MARKED: Final = re.compile(r"(?://|#|<!--)\s*(💡|❓|TODO:|FIXME:)\s*(.*)")
_TYPES: Final[dict[str, CommentType]] = {
    "💡": "Explanation",
    "❓": "Question",
    "TODO:": "Todo",
    "FIXME:": "Fixme",
}


def marked(line: str) -> tuple[CommentType, str] | None:
    """The first marked comment of a line, and its text; None if there is none."""
    found = _MARKED.search(line)
    if found is None:
        return None
    return _TYPES[found[1]], found[2].rstrip().removesuffix("-->").rstrip()


def threads_of_file(
    path: str, lines: Iterable[str], new_id: Callable[[], str]
) -> Iterator[CommentThread]:
    """The marked comments of a whole file, each with an id of its own."""
    for number, line in enumerate(lines, 1):
        if (found := marked(line)) is not None:
            yield CommentThread(new_id(), path, number, *found)


def threads_of_changes(files: Sequence[FileChange]) -> Iterator[CommentThread]:
    """The marked comments of what was added, and of the lines around it."""
    for file in files:
        for line in (line for hunk in file.hunks for line in hunk.lines):
            number = line.new_line_number
            if number is not None and (found := marked(line.content)) is not None:
                yield CommentThread(f"{file.path}:{number}", file.path, number, *found)

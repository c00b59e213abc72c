"""Where the lines of a conflict are in the file of each side, which has none of its marks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from symposium.git.program import Git

_HUNK: Final = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)

_AS_IS: Final = ("--no-ext-diff", "--no-textconv", "--text", "--no-color", "--inter-hunk-context=0")


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines of a file, both counted from 1 and both included; `last` < `first` for none."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that one side's file has and the merged one has not, and the other way round.

    Attributes:
        gone: how many lines of the side are not in the merged file.
        at: the first line of the merged file that the side has not; without such, the line
            before (diff's unified form with no context).
        come: how many of these there are.
    """

    gone: int
    at: int
    come: int


def marked_ranges(text: bytes) -> tuple[tuple[LineRange, ...], tuple[LineRange, ...]]:
    """What stands between the marks of each conflict, for either side, by lines of the text."""
    ours: list[LineRange] = []
    theirs: list[LineRange] = []
    side, begun, between = "", 0, 0
    for number, line in enumerate(text.split(b"\n"), start=1):
        if line.startswith(b"<<<<<<< ") and not side:
            side, begun = "ours", number
        elif line == b"=======" and side == "ours":
            side, between = "theirs", number
        elif line.startswith(b">>>>>>> ") and side == "theirs":
            ours.append(LineRange(begun + 1, between - 1))
            theirs.append(LineRange(between + 1, number - 1))
            side = ""
    return tuple(ours), tuple(theirs)


async def hunks_between(git: Git, side: str, merged: str) -> list[Hunk]:
    """How the file of a side differs from the merged one, marks and all.

    Raises:
        TaskspaceError: git is not there, or takes too long.
    """
    done = await git.run("diff", "-U0", *_AS_IS, side, merged)
    return [
        Hunk(_count(found[2]), int(found[3]), _count(found[4]))
        for found in _HUNK.finditer(done.out)
    ]


def own_ranges(hunks: Sequence[Hunk], ranges: Sequence[LineRange]) -> tuple[LineRange, ...]:
    """The ranges of the merged file as the side counts its lines."""
    found: list[LineRange] = []
    for each in ranges:
        first = each.first - sum(_more_before(hunk, each.first) for hunk in hunks)
        found.append(LineRange(first, first + each.last - each.first))
    return tuple(found)


def _more_before(hunk: Hunk, line: int) -> int:
    """How many more lines the merged file has of a hunk than the side has, before a line."""
    come = min(max(line - hunk.at, 0), hunk.come)
    is_whole = line >= hunk.at + max(hunk.come, 1)
    return come - hunk.gone if is_whole else come


def _count(told: bytes | None) -> int:
    return 1 if told is None else int(told)

"""Diff of two texts as lines for the user. No I/O."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

CONTEXT: Final = 3
"""Unchanged lines that are shown around a change."""

MOST_COMPARED: Final = 3000
"""Maximum number of lines to compare; of a longer text, every line counts as changed."""

_FEW: Final = 400
"""Number of lines above which frequent lines are ignored in the comparison."""


@dataclass(frozen=True, slots=True)
class LineDiff:
    """A change.

    Attributes:
        lines: with `+`, `-` or a blank before each; `@@` stands where lines are left out.
        added: how many come.
        removed: how many go.
    """

    lines: tuple[str, ...]
    added: int
    removed: int


def line_diff(old: str, new: str) -> LineDiff:
    """Compare the old text with the new one."""
    # Not splitlines: a form feed or a lone carriage return ends no line of a file.
    before, after = _lines(old), _lines(new)
    first = _common(before, after)
    last = _common(before[first:][::-1], after[first:][::-1])
    # A common beginning and end need no comparison, except for the shown context.
    lead, trail = min(first, CONTEXT), min(last, CONTEXT)
    before = before[first - lead : len(before) - last + trail]
    after = after[first - lead : len(after) - last + trail]
    if max(len(before), len(after)) > MOST_COMPARED:
        return _replaced(before, after, lead, trail)
    return _compared(before, after)


def _replaced(before: Sequence[str], after: Sequence[str], lead: int, trail: int) -> LineDiff:
    gone = [f"-{line}" for line in before[lead : len(before) - trail]]
    come = [f"+{line}" for line in after[lead : len(after) - trail]]
    above = [f" {line}" for line in before[:lead]]
    below = [f" {line}" for line in before[len(before) - trail :]]
    return LineDiff((*above, *gone, *come, *below), len(come), len(gone))


def _compared(before: Sequence[str], after: Sequence[str]) -> LineDiff:
    shown: list[str] = []
    added = removed = 0
    # The user waits: for long texts, a good diff soon is better than the best diff later.
    is_long = max(len(before), len(after)) > _FEW
    matcher = SequenceMatcher(None, before, after, autojunk=is_long)
    for number, group in enumerate(matcher.get_grouped_opcodes(CONTEXT)):
        if number:
            shown.append("@@")
        for tag, left, left_end, right, right_end in group:
            if tag == "equal":
                shown += [f" {line}" for line in before[left:left_end]]
                continue
            shown += [f"-{line}" for line in before[left:left_end]]
            shown += [f"+{line}" for line in after[right:right_end]]
            removed += left_end - left
            added += right_end - right
    return LineDiff(tuple(shown), added, removed)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Count the lines that both begin with."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count

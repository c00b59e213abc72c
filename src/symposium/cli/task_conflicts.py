"""Format conflicts between tasks: each file once, with every pair that conflicts in it."""

from collections.abc import Mapping, Sequence
from typing import Final

from localio.text import one_line
from symposium.bus.messages.worktrees import ConflictView, OverlapView

BASE: Final = "base"
"""Id that an overlap uses for the base branch."""

_WIDTH: Final = 200


def conflict_lines(found: Sequence[OverlapView], names: Mapping[str, str]) -> list[str]:
    """Format the lines to print: pairs by file; then pairs that could not be compared.

    Args:
        found: the conflicts.
        names: names of tasks, by id; two tasks of one name are shown with their ids.
    """
    by_file: dict[str, list[str]] = {}
    apart: list[str] = []
    for each in found:
        ends = _called(each.first, names), _called(each.second, names)
        if each.problem:
            reason = one_line(each.problem, width=_WIDTH)
            apart.append(f"{ends[0]} and {ends[1]} could not be compared: {reason}")
        for conflict in each.conflicts:
            by_file.setdefault(conflict.path, []).append(_pair(ends, conflict))
    lines = [
        line
        for path, pairs in sorted(by_file.items())
        for line in (one_line(path, width=_WIDTH), *(f"  {pair}" for pair in pairs))
    ]
    return [*lines, *apart]


def _called(id_: str, names: Mapping[str, str]) -> str:
    if id_ == BASE:
        return "its base"
    name = names.get(id_, id_)
    is_one_of_several = list(names.values()).count(name) > 1
    shown = one_line(name, width=_WIDTH)
    return f"{shown} ({id_[:8]})" if is_one_of_several else shown


def _pair(ends: tuple[str, str], conflict: ConflictView) -> str:
    sides = zip(ends, (conflict.first, conflict.second), strict=True)
    both = " and ".join(f"{end}{_numbers(ranges)}" for end, ranges in sides)
    return f"{both} ({conflict.kind})"


def _numbers(ranges: Sequence[tuple[int, int]]) -> str:
    """Format line numbers from 1; a side that only removed lines has no numbers."""
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    shown = [each for each, (first, last) in zip(texts, ranges, strict=True) if first <= last]
    return f":{','.join(shown)}" if shown else ""

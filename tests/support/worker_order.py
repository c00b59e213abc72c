"""Order of tests for several workers: long ones first, none of them at the end."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TypeVar

Each = TypeVar("Each")


def in_order(
    items: Sequence[Each],
    workers: int,
    *,
    kind: Callable[[Each], int],
    module: Callable[[Each], str],
) -> list[Each]:
    """Reorder items: cut evenly for the workers, each part with its share of each kind.

    Kinds are in ascending order in a part. The items of a module stay together within a kind if the
    parts have the same length, since they share the fixtures of the module.
    """
    parts: list[list[Each]] = [[] for _ in range(workers)]
    ordered = sorted(items, key=kind)
    kinds = [list(found) for _, found in groupby(ordered, key=kind)]
    for alike in kinds[:-1]:
        for _, together in groupby(alike, key=module):
            min(parts, key=len).extend(together)
    rest = kinds[-1] if kinds else []
    for number, part in enumerate(parts):
        # Worksteal divides the rest evenly among the remaining workers in the same way.
        length = (len(items) - sum(map(len, parts[:number]))) // (workers - number)
        needed = max(0, length - len(part))
        part.extend(rest[:needed])
        del rest[:needed]
    return [item for part in parts for item in part]

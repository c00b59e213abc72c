"""Which element of a changed list was which before, so that comments go along."""

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from symposium.config.jsonc_text import json_text


def pair(old: Sequence[Any], new: Sequence[Any]) -> list[int | None]:
    """For each new element the index of the old one that it was, or None; each old one once.

    Equal ones come first, then those of one `name`, then those with most members in common.
    """
    found: list[int | None] = [None] * len(new)
    _pair_by(_text, old, new, found)
    _pair_by(_name, old, new, found)
    taken = set(found)
    left = [index for index in range(len(old)) if index not in taken]
    for at, element in enumerate(new):
        if found[at] is None and left:
            alike = [(_members_in_common(old[index], element), -index) for index in left]
            most, index = max(alike)
            if most:
                found[at] = -index
                left.remove(-index)
    return found


def is_same(one: Any, other: Any) -> bool:
    """Whether they are one JSON value: the order of members does not count, `1` is not `true`."""
    return _text(one) == _text(other)


def _pair_by(
    key: Callable[[Any], str | None],
    old: Sequence[Any],
    new: Sequence[Any],
    found: list[int | None],
) -> None:
    taken = set(found)
    waiting: defaultdict[str, deque[int]] = defaultdict(deque)
    for index, element in enumerate(old):
        known_by = None if index in taken else key(element)
        if known_by is not None:
            waiting[known_by].append(index)
    for at, element in enumerate(new):
        known_by = key(element) if found[at] is None else None
        if known_by is not None and waiting[known_by]:
            found[at] = waiting[known_by].popleft()


def _text(element: Any) -> str:
    return json_text(element, sort_keys=True)


def _name(element: Any) -> str | None:
    name = cast("Mapping[str, Any]", element).get("name") if isinstance(element, Mapping) else None
    return name if isinstance(name, str) else None


def _members_in_common(one: Any, other: Any) -> int:
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return 0
    first = cast("Mapping[str, Any]", one)
    second = cast("Mapping[str, Any]", other)
    return sum(is_same(first[key], second[key]) for key in first if key in second)

"""Which element of a changed list was which before, so that comments go along."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from symposium.config.jsonc_text import json_text


def pair(old: Sequence[Any], new: Sequence[Any]) -> list[int | None]:
    """For each new element the index of the old one that it was, or None; each old one once.

    Equal ones come first, then those of one `name`, then those with most members in common.
    """
    found: list[int | None] = [None] * len(new)
    left = list(range(len(old)))
    for likeness in (_is_equal, _has_name, _members_in_common):
        for at, element in enumerate(new):
            if found[at] is None and left:
                best = max(left, key=lambda index: (likeness(old[index], element), -index))
                if likeness(old[best], element):
                    found[at] = best
                    left.remove(best)
    return found


def is_same(one: Any, other: Any) -> bool:
    """Whether they are one JSON value: the order of members does not count, `1` is not `true`."""
    return json_text(one, sort_keys=True) == json_text(other, sort_keys=True)


def _is_equal(one: Any, other: Any) -> int:
    return is_same(one, other)


def _has_name(one: Any, other: Any) -> int:
    name = _member(one, "name")
    return isinstance(name, str) and name == _member(other, "name")


def _members_in_common(one: Any, other: Any) -> int:
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return 0
    first = cast("Mapping[str, Any]", one)
    second = cast("Mapping[str, Any]", other)
    return sum(is_same(first[key], second[key]) for key in first if key in second)


def _member(element: Any, name: str) -> Any:
    return cast("Mapping[str, Any]", element).get(name) if isinstance(element, Mapping) else None

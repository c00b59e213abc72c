"""What a taskspace and all that it spawns may spend: money, minutes, turns (users B-12)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from symposium.taskspaces.failures import RefusedNameError
from symposium.taskspaces.model import Limits, Taskspace

WARNED_AT: Final = 0.8
"""The share that is told beforehand."""

_PART: Final = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*(usd|min|turns?)")
_HINT: Final = "write it as 3usd,20min,30turns, or some of these"


@dataclass(frozen=True, slots=True)
class Spent:
    """What one taskspace, or several, have spent.

    Attributes:
        unknown: how many have worked and told no cost.
    """

    usd: float = 0.0
    minutes: float = 0.0
    turns: int = 0
    unknown: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        """Both together."""
        return Spent(
            self.usd + other.usd,
            self.minutes + other.minutes,
            self.turns + other.turns,
            self.unknown + other.unknown,
        )

    @property
    def text(self) -> str:
        """For people; a cost that nobody told is unknown, not nothing."""
        cost = "cost unknown" if self.unknown else f"{self.usd:.2f} usd"
        return f"{cost}, {self.minutes:.1f} min, {self.turns} turns"


@dataclass(frozen=True, slots=True)
class Reckoning:
    """How far the budget that is nearest to its end is spent.

    Attributes:
        holder: the taskspace that has it: the one that was asked for, or one it descends from.
        share: 1 is all of it.
    """

    holder: Taskspace
    spent: Spent
    share: float

    @property
    def is_over(self) -> bool:
        """Whether nothing is left."""
        return self.share >= 1

    @property
    def text(self) -> str:
        """For people."""
        return f"{self.spent.text} of {budget_text(self.holder.limits)}"


def read_budget(text: str) -> Limits:
    """The limits that a text like `3usd,20min` means.

    Raises:
        RefusedNameError: it means none.
    """
    found: dict[str, float] = {}
    for part in text.split(","):
        matched = _PART.fullmatch(part.strip().lower())
        kind = matched[2][:3] if matched else ""
        if matched is None or kind in found or not float(matched[1]):
            raise RefusedNameError(f"{text!r} is no budget", _HINT)
        found[kind] = float(matched[1])
    turns = found.get("tur")
    return Limits(
        minutes=found.get("min"),
        usd=found.get("usd"),
        turns=None if turns is None else max(round(turns), 1),
    )


def budget_text(limits: Limits) -> str:
    """The same as a person writes it; empty for none."""
    parts = ((limits.usd, "usd"), (limits.minutes, "min"), (limits.turns, "turns"))
    return ",".join(f"{value:g}{unit}" for value, unit in parts if value is not None)


def raised(limits: Limits, more: Limits) -> Limits:
    """The limits with more of what they bound; what is not bound stays so."""
    return replace(
        limits,
        usd=_sum(limits.usd, more.usd),
        minutes=_sum(limits.minutes, more.minutes),
        turns=None if limits.turns is None else limits.turns + (more.turns or 0),
    )


def reckon(
    taskspace: Taskspace, everything: Sequence[Taskspace], spent: Mapping[str, Spent]
) -> Reckoning | None:
    """How far the tightest budget that holds for a taskspace is spent; None without one.

    Args:
        taskspace: which.
        everything: all taskspaces, for parents and children.
        spent: by taskspace, without its children.
    """
    known = {each.id: each for each in everything}
    found: list[Reckoning] = []
    holder: Taskspace | None = taskspace
    seen: set[str] = set()
    while holder is not None and holder.id not in seen:
        seen.add(holder.id)
        if budget_text(holder.limits):
            total = sum((spent.get(id_, Spent()) for id_ in family(holder, everything)), Spent())
            found.append(Reckoning(holder, total, _share(holder.limits, total)))
        holder = known.get(holder.parent or "")
    # Of two that are spent as far, the one that holds for more is to be raised.
    return max(reversed(found), key=lambda each: each.share, default=None)


def family(holder: Taskspace, everything: Sequence[Taskspace]) -> list[str]:
    """A taskspace and all that it, and they, have spawned, by id."""
    found = [holder.id]
    for id_ in found:
        found += [each.id for each in everything if each.parent == id_ and each.id not in found]
    return found


def _share(limits: Limits, spent: Spent) -> float:
    pairs = (
        (spent.usd, limits.usd),
        (spent.minutes, limits.minutes),
        (float(spent.turns), limits.turns),
    )
    return max(used / limit for used, limit in pairs if limit)


def _sum(limit: float | None, more: float | None) -> float | None:
    return None if limit is None else limit + (more or 0.0)

"""What a taskspace and all that it spawns may spend: money, minutes, turns (users B-12)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from symposium.taskspaces.currencies import CURRENCIES
from symposium.taskspaces.failures import RefusedNameError
from symposium.taskspaces.model import Limits, Taskspace

WARNED_AT: Final = 0.8
"""The share that is told beforehand."""

_PART: Final = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([a-z]{3,5})")
_MINUTES: Final = "min"
_TURNS: Final = ("turn", "turns")
_HINT: Final = "write it as 3usd,20min,30turns, or some of these; 3eur for another currency"


@dataclass(frozen=True, slots=True)
class Spent:
    """What one taskspace, or several, have spent.

    Attributes:
        costs: by currency.
        unknown: how many have worked and told no cost.
    """

    costs: Mapping[str, float] = field(default_factory=dict[str, float])
    minutes: float = 0.0
    turns: int = 0
    unknown: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        """Both together."""
        return Spent(
            _added(self.costs, other.costs),
            self.minutes + other.minutes,
            self.turns + other.turns,
            self.unknown + other.unknown,
        )

    @property
    def text(self) -> str:
        """For people; a cost that nobody told is unknown, not nothing."""
        costs = [f"{amount:.2f} {currency}" for currency, amount in sorted(self.costs.items())]
        costs += ["cost unknown"] if self.unknown else []
        told = ", ".join(costs) or "0.00 usd"
        turns = "1 turn" if self.turns == 1 else f"{self.turns} turns"
        return f"{told}, {self.minutes:.1f} min, {turns}"


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
    def uncounted(self) -> str:
        """Why a cost that was told does not count; empty if all do, or none is bounded."""
        bounded = self.holder.limits.costs
        apart = [each for each in sorted(self.spent.costs) if each not in bounded]
        if not bounded or not apart:
            return ""
        told, known = " and ".join(apart), " and ".join(sorted(bounded))
        return f"costs in {told} do not count against a budget in {known}: no rate is known"

    @property
    def text(self) -> str:
        """For people."""
        told = f"{self.spent.text} of {budget_text(self.holder.limits)}"
        return f"{told} ({self.uncounted})" if self.uncounted else told


def read_budget(text: str) -> Limits:
    """The limits that a text like `3usd,20min` means.

    Raises:
        RefusedNameError: it means none.
    """
    found: dict[str, float] = {}
    for part in text.split(","):
        matched = _PART.fullmatch(part.strip().lower())
        unit = matched[2] if matched else ""
        kind = _TURNS[-1] if unit in _TURNS else unit
        is_known = kind in {_MINUTES, _TURNS[-1], *CURRENCIES}
        if matched is None or not is_known or kind in found or not float(matched[1]):
            raise RefusedNameError(f"{text!r} is no budget", _HINT)
        found[kind] = float(matched[1])
    minutes, turns = found.pop(_MINUTES, None), found.pop(_TURNS[-1], None)
    return Limits(
        minutes=minutes,
        costs=found,
        turns=None if turns is None else max(round(turns), 1),
    )


def budget_text(limits: Limits) -> str:
    """The same as a person writes it; empty for none."""
    parts = [f"{amount:g}{currency}" for currency, amount in sorted(limits.costs.items())]
    others = ((limits.minutes, _MINUTES), (limits.turns, _TURNS[-1]))
    return ",".join([*parts, *(f"{each:g}{unit}" for each, unit in others if each is not None)])


def raised(limits: Limits, more: Limits) -> Limits:
    """The limits with more of what they bound; what is not bound stays so."""
    return replace(
        limits,
        costs={each: bound + more.costs.get(each, 0.0) for each, bound in limits.costs.items()},
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
        *((spent.costs.get(each, 0.0), bound) for each, bound in limits.costs.items()),
        (spent.minutes, limits.minutes),
        (float(spent.turns), limits.turns),
    )
    return max(used / limit for used, limit in pairs if limit)


def _sum(limit: float | None, more: float | None) -> float | None:
    return None if limit is None else limit + (more or 0.0)


def _added(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    currencies = {**first, **second}
    return {each: first.get(each, 0.0) + second.get(each, 0.0) for each in currencies}

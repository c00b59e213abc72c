"""Limits on the spending of a task and its descendants: money, minutes, turns (users B-12)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from symposium.sessions.spending import CURRENCIES
from symposium.tasks.model import Limits, RefusedNameError, Taskspace

WARNED_AT: Final = 0.8
"""The share of the budget at which a warning is logged."""

_PART: Final = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([a-z]{3,5})")
_MINUTES: Final = "min"
_TURNS: Final = ("turn", "turns")
_HINT: Final = "write it as 3usd,20min,30turns, or some of these; 3eur for another currency"


@dataclass(frozen=True, slots=True)
class Usage:
    """Spending of one task, or of several.

    Attributes:
        costs: by currency.
        unknown: number of agents that worked and reported no cost.
    """

    costs: Mapping[str, float] = field(default_factory=dict[str, float])
    minutes: float = 0.0
    turns: int = 0
    unknown: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        """The sum of both."""
        return Usage(
            _added(self.costs, other.costs),
            self.minutes + other.minutes,
            self.turns + other.turns,
            self.unknown + other.unknown,
        )

    @property
    def text(self) -> str:
        """Usage as text for the user; an unreported cost is unknown, not zero."""
        costs = [f"{amount:.2f} {currency}" for currency, amount in sorted(self.costs.items())]
        costs += ["cost unknown"] if self.unknown else []
        text = ", ".join(costs) or "0.00 usd"
        turns = "1 turn" if self.turns == 1 else f"{self.turns} turns"
        return f"{text}, {self.minutes:.1f} min, {turns}"


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """Spending against the tightest budget.

    Attributes:
        holder: the task that has it: the given one, or an ancestor.
        share: 1 is all of it.
    """

    holder: Taskspace
    spent: Usage
    share: float

    @property
    def is_over(self) -> bool:
        """Whether the budget is used up."""
        return self.share >= 1

    @property
    def uncounted(self) -> str:
        """Reason why a reported cost does not count; empty if all count, or cost has no limit."""
        bounded = self.holder.limits.costs
        apart = [each for each in sorted(self.spent.costs) if each not in bounded]
        if not bounded or not apart:
            return ""
        text, known = " and ".join(apart), " and ".join(sorted(bounded))
        return f"costs in {text} do not count against a budget in {known}: no rate is known"

    @property
    def text(self) -> str:
        """Summary of spending and limits for the user."""
        text = f"{self.spent.text} of {budget_text(self.holder.limits)}"
        return f"{text} ({self.uncounted})" if self.uncounted else text


def read_budget(text: str) -> Limits:
    """Parse a text like `3usd,20min`.

    Raises:
        RefusedNameError: it is not a budget.
    """
    found: dict[str, float] = {}
    for part in text.split(","):
        matched = _PART.fullmatch(part.strip().lower())
        unit = matched[2] if matched else ""
        kind = _TURNS[-1] if unit in _TURNS else unit
        is_known = kind in {_MINUTES, _TURNS[-1], *CURRENCIES}
        if matched is None or not is_known or kind in found or not float(matched[1]):
            raise RefusedNameError(f"{text!r} is not a budget", _HINT)
        found[kind] = float(matched[1])
    minutes, turns = found.pop(_MINUTES, None), found.pop(_TURNS[-1], None)
    return Limits(
        minutes=minutes,
        costs=found,
        turns=None if turns is None else max(round(turns), 1),
    )


def budget_text(limits: Limits) -> str:
    """The text that `read_budget` parses; empty for no limits."""
    parts = [f"{amount:g}{currency}" for currency, amount in sorted(limits.costs.items())]
    others = ((limits.minutes, _MINUTES), (limits.turns, _TURNS[-1]))
    return ",".join([*parts, *(f"{each:g}{unit}" for each, unit in others if each is not None)])


def raised(limits: Limits, more: Limits) -> Limits:
    """The limits raised by `more`; values without a limit stay without one."""
    return replace(
        limits,
        costs={each: bound + more.costs.get(each, 0.0) for each, bound in limits.costs.items()},
        minutes=_sum(limits.minutes, more.minutes),
        turns=None if limits.turns is None else limits.turns + (more.turns or 0),
    )


def reckon(
    taskspace: Taskspace, everything: Sequence[Taskspace], spent: Mapping[str, Usage]
) -> BudgetStatus | None:
    """The state of the tightest budget that applies to a task; None without a budget.

    Args:
        taskspace: the task.
        everything: all tasks, for parents and children.
        spent: by task, without its children.
    """
    known = {each.id: each for each in everything}
    found: list[BudgetStatus] = []
    holder: Taskspace | None = taskspace
    seen: set[str] = set()
    while holder is not None and holder.id not in seen:
        seen.add(holder.id)
        if budget_text(holder.limits):
            total = sum((spent.get(id_, Usage()) for id_ in family(holder, everything)), Usage())
            found.append(BudgetStatus(holder, total, _share(holder.limits, total)))
        holder = known.get(holder.parent or "")
    # Of two equally spent budgets, choose the one that more tasks share.
    return max(reversed(found), key=lambda each: each.share, default=None)


def family(holder: Taskspace, everything: Sequence[Taskspace]) -> list[str]:
    """Ids of a task and all its descendants."""
    found = [holder.id]
    for id_ in found:
        found += [each.id for each in everything if each.parent == id_ and each.id not in found]
    return found


def _share(limits: Limits, spent: Usage) -> float:
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

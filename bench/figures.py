"""Arithmetic of comparisons: medians over repetitions, and ratios within one repetition."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, TypeAlias

Values: TypeAlias = Mapping[str, float]
"""Figure to value, for one variant in one repetition; unmeasured figures are missing."""

Results: TypeAlias = Mapping[str, Sequence[Values]]
"""Name of the variant to its repetitions, the same number and order for each."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One column of the table.

    Attributes:
        key: name in measurements and JSON.
        heading: name in the table.
        unit: unit of the values; empty for a count.
        decimals: decimal places in the table.
    """

    key: str
    heading: str
    unit: str
    decimals: int = 0


FIGURES: Final = (
    Figure("rate", "rate", "msg/s"),
    Figure("flood_p50", "flood p50", "us"),
    Figure("added_p50", "added p50", "us"),
    Figure("added_p99", "added p99", "us"),
    Figure("round_trip", "round trip", "us"),
    Figure("cpu", "CPU", "us/msg", 1),
    Figure("memory", "memory", "MB", 1),
    Figure("line", "5 MB line", "ms", 1),
    Figure("slow_growth", "slow client", "MB", 1),
    Figure("start", "start", "ms"),
    Figure("lost", "lost", "msg"),
    Figure("misordered", "misordered", "msg"),
    Figure("early", "early reply", "msg"),
)
"""The columns. Added latency: paced latency minus that of the direct pipe in a repetition."""


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of all values do not exceed.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("no values to take a percentile of")
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def median_of(results: Results, variant: str, figure: str) -> float | None:
    """The median over the repetitions that have the figure; None if none has."""
    values = [values[figure] for values in results.get(variant, ()) if figure in values]
    return median(values) if values else None


def median_ratio(results: Results, variant: str, base: str, figure: str) -> float | None:
    """The median of ratios within each repetition; None if no repetition has both figures."""
    pairs = zip(results.get(variant, ()), results.get(base, ()), strict=False)
    ratios = [
        mine[figure] / theirs[figure]
        for mine, theirs in pairs
        if figure in mine and theirs.get(figure)
    ]
    return median(ratios) if ratios else None


def with_differences(
    results: Results, base: str, names: Mapping[str, str]
) -> dict[str, list[Values]]:
    """Add for each name the difference between a figure and the base's in that repetition."""
    bases = results.get(base, ())
    return {
        variant: [
            {**values, **_differences(values, bases[number] if number < len(bases) else {}, names)}
            for number, values in enumerate(repetitions)
        ]
        for variant, repetitions in results.items()
    }


def _differences(mine: Values, theirs: Values, names: Mapping[str, str]) -> Values:
    return {
        name: mine[figure] - theirs[figure]
        for name, figure in names.items()
        if figure in mine and figure in theirs
    }

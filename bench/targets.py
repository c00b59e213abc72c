"""Targets of the figures, row by row."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from bench.figures import Results, median_of, median_ratio
from bench.variants import Variant

SLOW_CLIENT_GROWTH_MB: Final = 8
"""Maximum growth of the host in MB under a flood with a slow client, over ten minutes."""


class Bound(Enum):
    """Direction of a target."""

    AT_LEAST = ">="
    AT_MOST = "<="

    def holds(self, value: float, limit: float) -> bool:
        """Whether the value meets the limit."""
        return value >= limit if self is Bound.AT_LEAST else value <= limit


class Verdict(Enum):
    """Verdict on a target."""

    STRETCH = "met, and the stretch"
    MET = "met"
    MISSED = "MISSED"
    UNMEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class Target:
    """One row of the targets.

    Attributes:
        text: description of the figure.
        variant: the measured variant.
        figure: key of the figure.
        base: variant that the figure is divided by within one repetition; None for no division.
        bound: at least or at most.
        target: limit to meet.
        stretch: stricter limit, beyond a bare prototype.
    """

    text: str
    variant: str
    figure: str
    base: str | None
    bound: Bound
    target: float
    stretch: float


_LEAST, _MOST = Bound.AT_LEAST, Bound.AT_MOST
_START = "start to the answer of initialize, eliza in process"
_RUN_START = "the same in run mode"
_OURS = "3 in-process mods"

TARGETS: Final = (
    Target("messages/s, 3 mods that pass", "pass x3", "rate", "cat", _LEAST, 0.45, 0.60),
    Target("messages/s, 3 mods that pass", "pass x3", "rate", "python sdk", _LEAST, 20, 30),
    Target("messages/s, 3 mods that pass", "pass x3", "rate", "typescript sdk", _LEAST, 13, 20),
    Target("messages/s, 10 mods", "pass x10", "rate", "pass x1", _LEAST, 0.70, 0.90),
    Target("messages/s, 3 mods that rewrite", "tag x3", "rate", "cat", _LEAST, 0.15, 0.25),
    Target("messages/s, 3 processes", "process x3", "rate", "python sdk x3", _LEAST, 12, 18),
    Target("messages/s, 3 mods in run mode", "run x3", "rate", "pass x3", _LEAST, 0.90, 0.97),
    Target(f"round trip p50, {_OURS}", "pass x3", "round_trip", "cat", _MOST, 1.5, 1.4),
    Target("paced at 1,000/s, p50", "pass x3", "paced_p50", "cat", _MOST, 2.5, 1.5),
    Target("one line of 5 MB, one hop", "pass x1", "line", "cat", _MOST, 1.25, 1.15),
    Target(
        "slow client: growth in MB", "pass x3", "slow_growth", None, _MOST, SLOW_CLIENT_GROWTH_MB, 2
    ),
    Target(f"memory in MB, {_OURS}", "pass x3", "memory", None, _MOST, 40, 30),
    Target(_START, "eliza", "start", "python sdk", _MOST, 0.30, 0.20),
    Target(_START, "eliza", "start", "typescript sdk", _MOST, 0.65, 0.45),
    Target(_RUN_START, "eliza in run mode", "start", "python sdk", _MOST, 0.18, 0.15),
    Target(_RUN_START, "eliza in run mode", "start", "typescript sdk", _MOST, 0.65, 0.45),
)
"""Every target of the design for chains; those of the bus are in `bench/bus`."""


@dataclass(frozen=True, slots=True)
class Check:
    """A target and its measured value; None if unmeasured."""

    target: Target
    measured: float | None

    @property
    def verdict(self) -> Verdict:
        if self.measured is None:
            return Verdict.UNMEASURED
        if self.target.bound.holds(self.measured, self.target.stretch):
            return Verdict.STRETCH
        if self.target.bound.holds(self.measured, self.target.target):
            return Verdict.MET
        return Verdict.MISSED


def check(results: Results) -> list[Check]:
    """Compare every target with its measured value."""
    return [Check(target, _measured(target, results)) for target in TARGETS]


def faults(results: Results, variants: Sequence[Variant]) -> list[str]:
    """Faults that fail a run: updates of Symposium lost, out of order, or after the reply."""
    words = {"lost": "lost", "misordered": "out of order", "early": "after the reply"}
    return [
        f"{variant.name}: repetition {number}: {values[figure]:g} updates {word}"
        for variant in variants
        if variant.is_ours
        for number, values in enumerate(results[variant.name], 1)
        for figure, word in words.items()
        if values.get(figure)
    ]


def _measured(target: Target, results: Results) -> float | None:
    if target.base is None:
        return median_of(results, target.variant, target.figure)
    return median_ratio(results, target.variant, target.base, target.figure)

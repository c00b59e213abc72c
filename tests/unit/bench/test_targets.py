"""Targets of the benchmark, and verdicts on figures."""

from dataclasses import replace

import pytest

from bench.targets import TARGETS, Bound, Check, Verdict, check, faults
from bench.variants import Variant

pytestmark = pytest.mark.project

RATE = next(target for target in TARGETS if target.base == "cat" and target.figure == "rate")
"""At least 0.45 of the rate of `cat`; the stretch is 0.60."""


@pytest.mark.requirement("bench.targets-all")
def test_every_target_of_chains_is_listed_with_its_stretch() -> None:
    rows = [(row.variant, row.figure, row.base, row.target, row.stretch) for row in TARGETS]

    assert rows == [
        ("pass x3", "rate", "cat", 0.45, 0.60),
        ("pass x3", "rate", "python sdk", 20, 30),
        ("pass x3", "rate", "typescript sdk", 13, 20),
        ("pass x10", "rate", "pass x1", 0.70, 0.90),
        ("tag x3", "rate", "cat", 0.15, 0.25),
        ("process x3", "rate", "python sdk x3", 12, 18),
        ("run x3", "rate", "pass x3", 0.90, 0.97),
        ("pass x3", "round_trip", "cat", 1.5, 1.4),
        ("pass x3", "paced_p50", "cat", 2.5, 1.5),
        ("pass x1", "line", "cat", 1.25, 1.15),
        ("pass x3", "slow_growth", None, 8, 2),
        ("pass x3", "memory", None, 40, 30),
        ("eliza", "start", "python sdk", 0.30, 0.20),
        ("eliza", "start", "typescript sdk", 0.65, 0.45),
        ("eliza in run mode", "start", "python sdk", 0.18, 0.15),
        ("eliza in run mode", "start", "typescript sdk", 0.65, 0.45),
    ]


@pytest.mark.requirement("bench.targets")
def test_rates_have_a_minimum_and_costs_a_maximum() -> None:
    assert {row.bound for row in TARGETS if row.figure == "rate"} == {Bound.AT_LEAST}
    assert {row.bound for row in TARGETS if row.figure != "rate"} == {Bound.AT_MOST}


@pytest.mark.requirement("bench.targets")
@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (None, Verdict.UNMEASURED),
        (0.44, Verdict.MISSED),
        (0.45, Verdict.MET),
        (0.59, Verdict.MET),
        (0.60, Verdict.STRETCH),
    ],
)
def test_rate_is_compared_with_its_target(measured: float | None, verdict: Verdict) -> None:
    assert Check(RATE, measured).verdict is verdict


@pytest.mark.requirement("bench.targets")
@pytest.mark.parametrize(
    ("measured", "verdict"),
    [(1.15, Verdict.STRETCH), (1.4, Verdict.MET), (1.41, Verdict.MISSED)],
)
def test_cost_is_compared_with_its_target(measured: float, verdict: Verdict) -> None:
    cost = replace(RATE, bound=Bound.AT_MOST, target=1.4, stretch=1.15)

    assert Check(cost, measured).verdict is verdict


@pytest.mark.requirement("bench.targets")
def test_figure_is_divided_by_its_base() -> None:
    results = {
        "pass x3": [{"rate": 50.0, "memory": 24.0}],
        "cat": [{"rate": 100.0, "memory": 5.0}],
    }

    measured = {
        (row.target.figure, row.target.base): row.measured
        for row in check(results)
        if row.measured is not None
    }

    assert measured == {("rate", "cat"): 0.5, ("memory", None): 24}


@pytest.mark.requirement("bench.nothing-lost")
@pytest.mark.parametrize("figure", ["lost", "misordered", "early"])
def test_chain_of_symposium_fails_on_lost_misordered_or_early_updates(figure: str) -> None:
    fine = {"rate": 1e6, "lost": 0.0, "misordered": 0.0, "early": 0.0}
    ours, theirs = Variant("ours", []), Variant("theirs", [], is_ours=False)

    found = faults(
        {"ours": [fine, {**fine, figure: 2}], "theirs": [{**fine, figure: 3}]}, [ours, theirs]
    )

    assert len(found) == 1
    assert found[0].startswith("ours: repetition 2: 2 updates ")

"""The report of a run as text and as JSON."""

import json

import pytest

from bench.figures import FIGURES
from bench.report import Report, as_json, name_of, render
from bench.targets import Check, check

pytestmark = pytest.mark.project

RESULTS = {
    "cat": [{"rate": 1000.0, "round_trip": 50.0}],
    "pass x3": [{"rate": 400.0, "round_trip": 80.0, "lost": 0.0}],
}
CHECKS = check(RESULTS)


def missed() -> Check:
    return next(row for row in CHECKS if row.measured == 0.4)


def line_with(text: str, report: Report) -> str:
    (line,) = [line for line in render(report).splitlines() if line.startswith(text)]
    return line


@pytest.mark.requirement("bench.one-table")
def test_table_has_a_row_for_each_variant_and_figures_with_units() -> None:
    heading, units, *rows = render(Report(RESULTS, [])).splitlines()

    for figure in FIGURES:
        assert figure.heading in heading
        assert figure.unit in units
    assert [row.split("  ")[0] for row in rows] == ["cat", "pass x3"]
    assert "1,000" in rows[0]
    assert "0.40" in rows[1]


@pytest.mark.requirement("bench.target-missed")
def test_missed_target_is_listed_with_figure_target_and_stretch() -> None:
    line = line_with(name_of(missed()), Report(RESULTS, CHECKS))

    assert "MISSED" in line
    assert all(figure in line for figure in (">=", "0.45", "0.6", "0.40"))


@pytest.mark.requirement("bench.target-missed-profile")
def test_missed_target_names_its_profile_or_that_none_was_taken() -> None:
    name = name_of(missed())

    with_profile = Report(RESULTS, CHECKS, profiles={name: "pass-x3-rate.profile.txt"})

    assert line_with(name, with_profile).endswith("profile: pass-x3-rate.profile.txt")
    assert line_with(name, Report(RESULTS, CHECKS)).endswith("profile: none was taken")


@pytest.mark.requirement("bench.targets-all")
def test_unmeasured_target_is_listed() -> None:
    text = render(Report(RESULTS, CHECKS))

    for row in CHECKS:
        assert name_of(row) in text
    assert "not measured" in line_with("one line of 5 MB", Report(RESULTS, CHECKS))


@pytest.mark.requirement("bench.variant-missing")
def test_missing_variant_is_listed_with_its_reason() -> None:
    report = Report(RESULTS, [], absent={"python sdk": "no network"})

    assert "not measured: python sdk: no network" in render(report).splitlines()


@pytest.mark.requirement("bench.nothing-lost")
def test_fault_is_shown() -> None:
    report = Report(RESULTS, [], faults=["pass x3: repetition 1: 2 updates lost"])

    assert "FAULT: pass x3: repetition 1: 2 updates lost" in render(report).splitlines()


@pytest.mark.requirement("bench.json")
def test_json_has_the_same_figures() -> None:
    report = Report(RESULTS, CHECKS, absent={"python sdk": "no network"}, notes=["2 cores"])

    found = json.loads(json.dumps(as_json(report)))

    assert found["medians"]["pass x3"]["rate"] == 400
    assert found["medians"]["pass x3"]["start"] is None
    assert found["units"]["rate"] == "msg/s"
    assert found["repetitions"] == RESULTS
    assert found["not_measured"] == {"python sdk": "no network"}
    row = next(row for row in found["targets"] if row["figure"] == name_of(missed()))
    assert (row["measured"], row["target"], row["verdict"]) == (0.4, 0.45, "missed")

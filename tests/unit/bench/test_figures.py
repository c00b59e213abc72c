"""Medians over repetitions, and ratios within one repetition."""

import pytest

from bench.figures import (
    FIGURES,
    median_of,
    median_ratio,
    percentile,
    with_differences,
)

pytestmark = pytest.mark.project

RESULTS = {
    "ours": [{"rate": 10.0}, {"rate": 300.0}, {"rate": 20.0}],
    "cat": [{"rate": 20.0}, {"rate": 100.0}, {"rate": 10.0}],
}


@pytest.mark.requirement("bench.medians")
def test_figure_is_the_median_of_its_repetitions() -> None:
    assert median_of(RESULTS, "ours", "rate") == 20


@pytest.mark.requirement("bench.medians")
def test_ratio_is_the_median_of_ratios_within_one_repetition() -> None:
    ratio = median_ratio(RESULTS, "ours", "cat", "rate")

    assert ratio == 2  # of 0.5, 3 and 2; the ratio of the medians would be 1


@pytest.mark.requirement("bench.figures")
def test_failed_repetition_is_ignored() -> None:
    results = {"ours": [{}, {"rate": 3.0}], "cat": [{"rate": 1.0}, {"rate": 2.0}]}

    assert median_of(results, "ours", "rate") == 3
    assert median_ratio(results, "ours", "cat", "rate") == 1.5


@pytest.mark.requirement("bench.figures")
def test_unmeasured_figure_has_no_median_and_no_ratio() -> None:
    assert median_of(RESULTS, "ours", "start") is None
    assert median_of(RESULTS, "theirs", "rate") is None
    assert median_ratio(RESULTS, "ours", "theirs", "rate") is None
    assert median_ratio({"a": [{"x": 1.0}], "b": [{"x": 0.0}]}, "a", "b", "x") is None


@pytest.mark.requirement("bench.figures")
def test_added_latency_is_what_exceeds_the_base_in_the_same_repetition() -> None:
    results = {"ours": [{"p50": 50.0}, {"p50": 70.0}, {}], "direct": [{"p50": 20.0}, {"p50": 30.0}]}

    found = with_differences(results, "direct", {"added": "p50"})

    assert [values.get("added") for values in found["ours"]] == [30, 40, None]
    assert found["ours"][0]["p50"] == 50


@pytest.mark.requirement("bench.figures")
@pytest.mark.parametrize(("share", "value"), [(0, 1), (0.5, 51), (0.99, 100), (1, 100)])
def test_percentile_is_a_measured_value(share: float, value: int) -> None:
    assert percentile(range(100, 0, -1), share) == value


@pytest.mark.requirement("bench.figures")
def test_no_values_have_no_percentile() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


@pytest.mark.requirement("bench.figures-named")
def test_every_figure_has_a_name_and_a_unit() -> None:
    keys = [figure.key for figure in FIGURES]

    assert all(figure.heading and figure.unit for figure in FIGURES)
    assert len({*keys}) == len(keys)

"""Figures of many tasks and of twelve agents, with their targets."""

import pytest

from bench import progress, tasks, twelve

pytestmark = pytest.mark.project


@pytest.mark.requirement("bench.tasks", "bench.twelve")
def test_report_states_whether_each_target_is_met(
    capsys: pytest.CaptureFixture[str],
) -> None:
    few = {each.figure: 20.0 for each in tasks.TARGETS}
    tasks.report(few, {each.figure: each.limit for each in tasks.TARGETS}, 10_000)
    at_limit = capsys.readouterr().out
    tasks.report(few, {each.figure: each.limit + 1 for each in tasks.TARGETS}, 10_000)
    beyond = capsys.readouterr().out
    twelve.report(twelve.Found(alone=10, streaming=99, growth=3))
    quick = capsys.readouterr().out
    twelve.report(twelve.Found(alone=100, streaming=1001, growth=65))
    slow = capsys.readouterr().out

    assert (at_limit.count("MISSED"), beyond.count("MISSED")) == (
        sum(each.limit / 20 > each.ratio for each in tasks.TARGETS),
        len(tasks.TARGETS),
    )
    assert (quick.count("   met"), slow.count("MISSED")) == (3, 3)


@pytest.mark.requirement("bench.tasks")
@pytest.mark.parametrize(
    ("base", "value", "end"),
    [
        (-5.0, 26.0, "-   met (at most 100 ms; 10 tasks take too little to compare)"),
        (19.9, 100.0, "-   met (at most 100 ms; 10 tasks take too little to compare)"),
        (-5.0, 101.0, "-   MISSED (at most 100 ms; 10 tasks take too little to compare)"),
        (20.0, 60.0, "3.00   met (at most 100 ms, 3 times)"),
        (20.0, 61.0, "3.05   MISSED (at most 100 ms, 3 times)"),
    ],
)
def test_difference_within_noise_is_not_the_base_of_a_ratio(
    capsys: pytest.CaptureFixture[str], base: float, value: float, end: str
) -> None:
    figure = f"task log{tasks.BEYOND}"

    tasks.report({figure: base}, {figure: value}, 10_000)

    assert capsys.readouterr().out.splitlines()[1].endswith(end)


@pytest.mark.requirement("bench.tasks")
def test_targets_are_those_of_the_issue() -> None:
    limits = {each.figure: each.limit for each in tasks.TARGETS}

    assert limits["list, over the bus"] == limits["task list, beyond task --help"] == 300
    assert limits["one shown, over the bus"] == limits["task show, beyond task --help"] == 100
    assert (twelve.AGENTS, twelve.MAX_TIME, twelve.MAX_GROWTH) == (12, 1000, 64)


@pytest.mark.requirement("bench.progress")
def test_target_of_log_lines_is_met_at_0_3_of_the_rate_of_sqlite(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress.report({progress.ALONE: 1000.0, "one agent": 300.0, "8 agents": 299.0})

    alone, one, eight = capsys.readouterr().out.splitlines()[1:]
    assert alone.endswith("1.00")
    assert one.endswith("0.30   met (at least 0.3)")
    assert eight.endswith("0.30   MISSED (at least 0.3)")

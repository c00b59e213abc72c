"""The report of recovery times."""

import pytest

from bench.recovery import LIMIT, NOTICE_RATIO, WORKS_RATIO, Taken, report

pytestmark = pytest.mark.project


@pytest.mark.requirement("bench.recovery")
def test_report_names_each_missed_target_of_a_recovery() -> None:
    met = "\n".join(report([Taken(1.0, NOTICE_RATIO, WORKS_RATIO)]))
    missed = report([Taken(1.0, NOTICE_RATIO + 0.01, LIMIT + 0.01)])
    slow = report([Taken(10.0, 1.0, LIMIT + 0.01)])

    assert (met.count(": met"), met.count("MISSED")) == (3, 0)
    assert [line.endswith("MISSED") for line in missed] == [False, True, True, True]
    assert [line.endswith("MISSED") for line in slow] == [False, False, False, True]
    assert WORKS_RATIO < 1

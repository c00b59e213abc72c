"""Targets for stopping an agent during its writes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.stop_on_write import FREE_LIMIT, LIMIT, NOISE, ROUND_TRIP, WAYS, Place, placed, verdicts

pytestmark = pytest.mark.project

ROOT = Path(__file__).parents[3]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux stops an agent this way")


def figures(
    *, stopped: float = 0, asks: float = 0, free: float = 0, trip: float = 0
) -> dict[Place, dict[str, list[float]]]:
    """Costs above 2 microseconds a line, each with a slower repetition."""
    return {
        "one processor": {
            ROUND_TRIP: [5, 9],
            "heard only": [2, 9],
            "asks": [2 + asks, 99],
            "stopped": [2 + stopped, 99],
        },
        "free": {
            ROUND_TRIP: [trip, trip + 9],
            "heard only": [2, 9],
            "asks": [2, 99],
            "stopped": [2 + free, 99],
        },
    }


@pytest.mark.requirement("bench.stop-on-write")
@pytest.mark.parametrize(
    ("least", "beyond"),
    [
        (
            figures(stopped=25, asks=1, free=75, trip=50),
            figures(stopped=26, asks=1.1, free=76, trip=50),
        ),
        (figures(free=25, trip=5), figures(stopped=26, asks=1.1, free=26, trip=5)),
    ],
    ids=["wake-up of another processor", "both on one"],
)
def test_stop_above_its_target_is_reported_as_missed(
    least: dict[Place, dict[str, list[float]]], beyond: dict[Place, dict[str, list[float]]]
) -> None:
    assert [line.rpartition(": ")[2] for line in verdicts(least)] == ["met"] * 3
    assert [line.rpartition(": ")[2] for line in verdicts(beyond)] == ["MISSED"] * 3
    assert (LIMIT, NOISE, FREE_LIMIT) == (25, 1, 1.5)


@LINUX
@pytest.mark.requirement("bench.stop-on-write")
def test_child_programs_inherit_the_one_processor() -> None:
    ask = (sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)))")
    before = os.sched_getaffinity(0)

    with placed("one processor"):
        bound = subprocess.run(ask, capture_output=True, check=True).stdout
    with placed("free"):
        free = subprocess.run(ask, capture_output=True, check=True).stdout

    assert (int(bound), int(free)) == (1, len(before))
    assert os.sched_getaffinity(0) == before


@LINUX
@pytest.mark.requirement("bench.stop-on-write")
def test_each_repetition_measures_all_methods_and_a_round_trip_in_both_places() -> None:
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    words = (sys.executable, "-m", "bench.stop_on_write", "--reps", "1", "--lines", "50")

    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)

    assert "\t@$(BIN)/python -m bench.stop_on_write $(BENCH)" in lines
    first, one, *rest = done.stdout.splitlines()
    assert first.startswith("stop in an agent's writes: 1 repetitions of 50 lines")
    names = [ROUND_TRIP, *WAYS]
    assert one == "  one processor"
    assert rest[4] == "  free"
    assert [line.partition("   median")[0].strip() for line in rest[:4] + rest[5:9]] == names * 2

"""Benchmark code and the slow client, over real processes and pipes."""

import re
import sys
from pathlib import Path

import pytest

from bench.editor import Editor
from bench.measure import Measurement, Sizes
from bench.modes.slow import TAKEN, TEN_MINUTES, Pace, slow_client
from bench.modes.stream import measured
from bench.profiling import profile
from bench.run import profiles
from bench.targets import SLOW_CLIENT_GROWTH_MB, TARGETS, Check
from bench.variants import AGENT, Variant, in_process, out_of_process

ROOT = Path(__file__).parents[2]
SMALL = Sizes(stream=200, paced=20, round_trips=5, long_lines=1)
DIRECT = Variant("direct", AGENT, is_ours=False)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")


def quietly(_: str) -> None:
    """Ignore progress."""


@pytest.mark.requirement("bench.one-table")
def test_every_load_gives_its_figures_and_nothing_is_lost() -> None:
    measurement = Measurement([DIRECT, in_process("tag", 1)], SMALL, quietly)

    measurement.run(1)

    assert not measurement.problems
    for (values,) in measurement.results.values():
        assert values.keys() >= {"start", "rate", "flood_p50", "paced_p50", "paced_p99"}
        assert values.keys() >= {"round_trip", "line", "cpu", "memory", "other_cores"}
        assert (values["lost"], values["misordered"], values["early"]) == (0, 0, 0)


@pytest.mark.requirement("bench.variant-missing")
def test_variant_that_exits_leaves_a_line_and_the_others_are_measured() -> None:
    gone = Variant("gone", [sys.executable, "-c", "pass"])
    measurement = Measurement([gone, DIRECT], SMALL, quietly)

    measurement.run(1)

    assert [problem.partition(":")[0] for problem in measurement.problems] == ["gone"]
    assert measurement.results["gone"] == [{}]
    assert "line" in measurement.results["direct"][0]


@pytest.mark.requirement("bench.target-missed-profile")
def test_profile_shows_where_the_host_spent_its_time(tmp_path: Path) -> None:
    target = next(target for target in TARGETS if target.figure == "round_trip")

    found = profile(target, in_process("pass", 1), tmp_path)

    assert "intake.py" in found.read_text(encoding="utf-8")


@pytest.mark.requirement("bench.target-missed-profile")
def test_only_missed_targets_are_profiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    start, memory = (
        next(
            each for each in TARGETS if each.figure == figure and each.base in {None, "python sdk"}
        )
        for figure in ("start", "memory")
    )
    rows = [
        Variant(name, in_process("pass", 1).command) for name in (start.variant, memory.variant)
    ]

    found = profiles([Check(start, 9.0), Check(memory, 1.0)], rows)

    (path,) = found.values()
    assert "import time:" in (tmp_path / path).read_text(encoding="utf-8")
    assert [each.name for each in (tmp_path / ".bench").iterdir()] == [Path(path).name]


@pytest.mark.requirement("bench.interleaved")
def test_repetitions_start_every_variant_in_turn(tmp_path: Path) -> None:
    order = tmp_path / "order"
    rows = [
        Variant(name, ["/bin/sh", "-c", f"printf {name} >> {order}"], frozenset(), speaks=False)
        for name in "abc"
    ]

    Measurement(rows, SMALL, quietly).run(3)

    assert order.read_text() == "abccbaabc"


@pytest.mark.requirement("bench.start-profile")
def test_profile_of_the_start_lists_imports(tmp_path: Path) -> None:
    target = next(target for target in TARGETS if target.figure == "start")

    found = profile(target, in_process("pass", 1), tmp_path)

    assert re.search(r"import time:.*\bmsgspec\b", found.read_text(encoding="utf-8"))


@pytest.mark.requirement("bench.slow-client-bound", "bench.slow-client-ten-minutes")
@pytest.mark.chaos
@pytest.mark.parametrize(
    "row", [in_process("pass", 3), out_of_process(1)], ids=lambda row: row.name
)
def test_slow_client_needs_no_memory_in_ten_minutes(row: Variant) -> None:
    """Read 60,000 updates of 2 KB steadily from a flooding agent; in seconds, see `Pace`."""
    hurried = Pace(TEN_MINUTES.seconds, hurry=300)
    editor = Editor(row.command)
    try:
        editor.open_session()
        measured(editor, 100, rate=0)

        found = slow_client(editor, hurried)
    finally:
        editor.close()

    assert found["slow_taken"] >= 600 * TAKEN
    assert found["slow_growth"] <= SLOW_CLIENT_GROWTH_MB


@pytest.mark.requirement("bench.sees-unbounded")
def test_unbounded_queue_is_detected() -> None:
    """Check the measurement: a relay that stores all output of the agent grows."""
    relay = f"""
import subprocess, sys, threading
agent = subprocess.Popen({AGENT!r}, stdin=0, stdout=subprocess.PIPE)
lines, ready = [], threading.Semaphore(0)
def keep():
    for line in agent.stdout:
        lines.append(line); ready.release()
threading.Thread(target=keep, daemon=True).start()
while ready.acquire():
    sys.stdout.buffer.write(lines.pop(0)); sys.stdout.buffer.flush()
"""
    editor = Editor([sys.executable, "-c", relay])
    try:
        editor.open_session()
        measured(editor, 100, rate=0)

        found = slow_client(editor, Pace(seconds=2))
    finally:
        editor.close()

    assert found["slow_growth"] > SLOW_CLIENT_GROWTH_MB


@pytest.mark.requirement("bench.slow-client-bound-stated")
def test_page_states_the_bound() -> None:
    page = (ROOT / "docs" / "reference" / "performance.md").read_text(encoding="utf-8")

    assert f"at most {SLOW_CLIENT_GROWTH_MB} MB" in page
    assert any(target.target == SLOW_CLIENT_GROWTH_MB for target in TARGETS)

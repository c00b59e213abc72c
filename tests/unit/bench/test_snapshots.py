"""The targets of snapshots, and that `make bench` measures them."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench.snapshots import CHANGED, STATUS, UNDO, WATCHER, verdicts

pytestmark = pytest.mark.project

ROOT = Path(__file__).parents[3]


@pytest.mark.requirement("bench.snapshots")
def test_figure_above_its_target_is_reported_as_missed() -> None:
    good = {STATUS: [100.0, 200.0], CHANGED: [25.0, 50.0], UNDO: [300.0, 600.0], WATCHER: [40.0]}

    met = verdicts(good)
    missed = [
        verdicts({**good, CHANGED: [26.0, 52.0]})[0],
        verdicts({**good, UNDO: [301.0, 602.0]})[1],
        verdicts({**good, WATCHER: [40.5]})[2],
    ]

    assert [line.rpartition(": ")[2] for line in met] == ["met"] * 3
    assert [line.rpartition(": ")[2] for line in missed] == ["MISSED"] * 3


@pytest.mark.requirement("bench.snapshots")
def test_bench_measures_snapshots_with_fifty_thousand_files_by_default() -> None:
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    words = (sys.executable, "-m", "bench.snapshots", "--files", "200", "--reps", "1")

    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)

    assert "\t@$(BIN)/python -m bench.snapshots $(BENCH)" in lines
    assert '"--files", type=int, default=50_000' in (ROOT / "bench/snapshots.py").read_text()
    assert "snapshots: 200 files" in done.stdout
    for name in (STATUS, CHANGED, UNDO, WATCHER):
        assert f"  {name}" in done.stdout

"""Compare chains with a direct pipe, `cat`, and proxies of the SDKs; check the targets.

The exit code is 0 unless a chain of Symposium lost or reordered messages, answered before
them, or could not be measured. A missed target is shown with a profile.
"""

import argparse
import json
import os
import platform
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final

from bench.editor import ChainEndedError
from bench.figures import Results, with_differences
from bench.measure import QUICK, Measurement, Sizes
from bench.modes.slow import TEN_MINUTES
from bench.peers.install import install
from bench.profiling import profile
from bench.report import Report, as_json, name_of, render
from bench.targets import Check, Verdict, check, faults
from bench.variants import Variant, standard

FOLDER: Final = Path(".bench")
"""Folder of the report and the profiles."""

REPETITIONS, QUICK_REPETITIONS = 5, 3

BUSY: Final = 0.3
"""Cores used by other programs above which the report warns."""

ADDED: Final = {"added_p50": "paced_p50", "added_p99": "paced_p99"}
"""Figures of the latency beyond that of the direct pipe."""


def options(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions of smaller loads")
    parser.add_argument("--reps", type=int, help=f"repetitions ({REPETITIONS})")
    parser.add_argument(
        "--only", default="", help="a regular expression: rows to measure in addition to the bases"
    )
    parser.add_argument(
        "--ten-minutes", action="store_true", help="slow client: ten simulated minutes"
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures there too")
    return parser.parse_args(words)


def main() -> int:
    asked = options()
    sizes = QUICK if asked.quick else Sizes()
    if asked.ten_minutes:
        sizes = replace(sizes, slow=TEN_MINUTES)
    field = standard(install())
    variants = [row for row in field.variants if is_wanted(row, asked.only)]
    measurement = Measurement(variants, sizes, say)
    measurement.run(asked.reps or (QUICK_REPETITIONS if asked.quick else REPETITIONS))
    results = with_differences(measurement.results, "direct", ADDED)
    checks = check(results)
    report = Report(
        results=results,
        checks=checks,
        absent={absent.name: absent.reason for absent in field.absent},
        faults=faults(results, variants) + unmeasured(results, variants),
        profiles=profiles(checks, variants),
        notes=[*machine(results), *measurement.problems],
    )
    deliver(report, asked.json)
    return 1 if report.faults else 0


def is_wanted(variant: Variant, only: str) -> bool:
    """Whether a row is measured; the bases of ratios always are."""
    return variant.name in {"direct", "cat"} or re.search(only, variant.name) is not None


def unmeasured(results: Results, variants: Sequence[Variant]) -> list[str]:
    """Chains of Symposium without any figure."""
    return [
        f"{variant.name}: could not be measured"
        for variant in variants
        if variant.is_ours and not any(results[variant.name])
    ]


def profiles(checks: Sequence[Check], variants: Sequence[Variant]) -> dict[str, str]:
    """A profile for every missed target, or the reason why there is none."""
    rows = {variant.name: variant for variant in variants}
    found: dict[str, str] = {}
    for missed in checks:
        if missed.verdict is Verdict.MISSED:
            say(f"profiling {missed.target.variant}: {missed.target.figure}")
            try:
                path = profile(missed.target, rows[missed.target.variant], FOLDER)
                found[name_of(missed)] = str(path)
            except (ChainEndedError, OSError) as error:
                found[name_of(missed)] = f"none: {error}"
    return found


def machine(results: Results) -> list[str]:
    """Describe the machine and the load of other programs."""
    others = [
        values["other_cores"]
        for repetitions in results.values()
        for values in repetitions
        if "other_cores" in values
    ]
    cores, busy = os.cpu_count(), median(others) if others else 0.0
    notes = [
        f"{datetime.now(UTC):%Y-%m-%d}, {cores} cores, {platform.platform(terse=True)}",
        f"Python {platform.python_version()}",
        f"Other programs took {busy:.2f} cores at the median during the run.",
    ]
    if busy > BUSY:
        notes.append("The machine was busy: compare only ratios with other runs, and with care.")
    return notes


def deliver(report: Report, out: Path | None) -> None:
    """Print the report and write it next to the profiles."""
    text = render(report)
    print(text, end="")
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "report.txt").write_text(text, encoding="utf-8")
    if out is not None:
        out.write_text(json.dumps(as_json(report), indent=1), encoding="utf-8")


def say(line: str) -> None:
    """Print progress to stderr."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

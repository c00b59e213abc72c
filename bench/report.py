"""Reports of results: a table, the targets as a checklist, and the same as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from bench.figures import FIGURES, Figure, Results, median_of, median_ratio
from bench.targets import Check, Verdict

BASE: Final = "cat"
"""The base of the rates in the table's second column."""

NOTHING: Final = "-"


@dataclass(frozen=True, slots=True)
class Report:
    """The results of one run.

    Attributes:
        results: results of every variant, in the table's order.
        checks: the targets.
        absent: unmeasured variant to the reason.
        faults: messages of Symposium that were lost, out of order, or late.
        profiles: text of a missed target to the path of its profile.
        notes: facts about the machine and the run.
    """

    results: Results
    checks: Sequence[Check]
    absent: Mapping[str, str] = field(default_factory=dict[str, str])
    faults: Sequence[str] = ()
    profiles: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: Sequence[str] = ()


def render(report: Report) -> str:
    """The whole report as text."""
    blocks = [
        _grid(_table(report.results)),
        "\n".join(f"not measured: {name}: {why}" for name, why in report.absent.items()),
        _grid(_checklist(report)) if report.checks else "",
        "\n".join(f"FAULT: {fault}" for fault in report.faults),
        "\n".join(report.notes),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def as_json(report: Report) -> dict[str, Any]:
    """The same figures as JSON; `repetitions` has every measured value."""
    return {
        "units": {figure.key: figure.unit for figure in FIGURES},
        "medians": {
            variant: {
                figure.key: median_of(report.results, variant, figure.key) for figure in FIGURES
            }
            for variant in report.results
        },
        "repetitions": report.results,
        "targets": [_check_json(check, report.profiles) for check in report.checks],
        "not_measured": report.absent,
        "faults": report.faults,
        "notes": report.notes,
    }


def _check_json(check: Check, profiles: Mapping[str, str]) -> dict[str, Any]:
    target = check.target
    return {
        "figure": name_of(check),
        "bound": target.bound.value,
        "target": target.target,
        "stretch": target.stretch,
        "measured": check.measured,
        "verdict": check.verdict.name.lower(),
        "profile": profiles.get(name_of(check)),
    }


def name_of(check: Check) -> str:
    """The name of a target's row."""
    base = check.target.base
    return check.target.text if base is None else f"{check.target.text}, against {base}"


def _table(results: Results) -> list[list[str]]:
    head = ["", "rate", *(figure.heading for figure in FIGURES)]
    units = ["", f"/{BASE}", *(figure.unit for figure in FIGURES)]
    rows = [
        [
            variant,
            _shown(median_ratio(results, variant, BASE, "rate"), 2),
            *(_cell(results, variant, figure) for figure in FIGURES),
        ]
        for variant in results
    ]
    return [head, units, *rows]


def _cell(results: Results, variant: str, figure: Figure) -> str:
    return _shown(median_of(results, variant, figure.key), figure.decimals)


def _checklist(report: Report) -> list[list[str]]:
    head = ["target", "", "wanted", "stretch", "measured", ""]
    rows = [
        [
            name_of(check),
            check.target.bound.value,
            f"{check.target.target:g}",
            f"{check.target.stretch:g}",
            _shown(check.measured, 2),
            _verdict(check, report.profiles),
        ]
        for check in report.checks
    ]
    return [head, *rows]


def _verdict(check: Check, profiles: Mapping[str, str]) -> str:
    if check.verdict is not Verdict.MISSED:
        return check.verdict.value
    return f"{check.verdict.value}; profile: {profiles.get(name_of(check), 'none was taken')}"


def _shown(value: float | None, decimals: int) -> str:
    return NOTHING if value is None else f"{value:,.{decimals}f}"


def _grid(rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            chain(
                [row[0].ljust(widths[0])],
                (cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)),
                [row[-1].rjust(widths[-1]) if _is_number(rows) else row[-1]],
            )
        ).rstrip()
        for row in rows
    )


def _is_number(rows: Sequence[Sequence[str]]) -> bool:
    return not any(len(row[-1]) > len("early reply") for row in rows)

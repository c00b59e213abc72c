"""Compare the bus with a NATS server and Redis pub/sub, interleaved; check its targets.

Three loads of 1 KB messages: broadcast to 100 clients, routed to 1 of 1,000, and routed while one
of 1,000 has stopped reading broadcasts. A missed target is shown as missed. The exit code is 1
only if the bus of Symposium could not be measured.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final, TypeAlias

from bench.bus.rig import Rig, StalledError, percentile
from bench.bus.speakers import Speaker, speakers

FOLDER: Final = Path(".bench")
WINDOW: Final = 64
"""Messages in flight."""

SHARE: Final = 0.3
"""Share of the highest rate at which latency is measured; `FASTEST` messages a second at most."""

FASTEST: Final = 2000.0

SMALL: Final = 10
"""Figures below this are shown with decimals."""

Figures: TypeAlias = dict[str, float]
Results: TypeAlias = dict[tuple[str, str], list[Figures]]
"""Load and bus to the figures of each repetition."""


@dataclass(frozen=True, slots=True)
class Target:
    """A target for a figure of Symposium relative to another bus, within one repetition."""

    text: str
    load: str
    figure: str
    base: str
    is_least: bool
    target: float
    stretch: float


TARGETS: Final = (
    Target("broadcast to 100: deliveries/s against NATS", "broadcast 100", "deliveries", "nats",
           is_least=True, target=3, stretch=5),
    Target("routed to 1 of 1,000: messages/s against NATS", "routed 1,000", "rate", "nats",
           is_least=True, target=0.7, stretch=1),
    Target("routed to 1 of 1,000: p99 against NATS", "routed 1,000", "p99", "nats",
           is_least=False, target=0.5, stretch=0.2),
)  # fmt: skip


def broadcast(speaker: Speaker, seconds: float) -> Figures:
    """Send every message to all of 100 clients."""
    with Rig(speaker, 100) as rig:
        frame = speaker.to_all()
        rig.flat_out(frame, 100, 0.3, 4)
        rate = rig.flat_out(frame, 100, seconds, WINDOW)
        cpu = rig.cpu
        latencies = rig.paced(frame, 100, seconds, min(FASTEST, SHARE * rate))
        found = {"rate": rate, "deliveries": rate * 100, "cpu": cpu, "memory": rig.memory()}
        return found | tail(latencies)


def routed(speaker: Speaker, seconds: float) -> Figures:
    """Send each message to one of 1,000 clients."""
    with Rig(speaker, 1000) as rig:
        frame = speaker.to_one(1)
        rig.flat_out(frame, 1, 0.3, 4)
        rate = rig.flat_out(frame, 1, seconds, WINDOW)
        cpu = rig.cpu
        latencies = rig.paced(frame, 1, seconds, min(FASTEST, SHARE * rate))
        found = {"rate": rate, "deliveries": rate, "cpu": cpu, "memory": rig.memory()}
        return found | tail(latencies)


def stopped(speaker: Speaker, seconds: float) -> Figures:
    """Latency of 100 broadcasts a second for 999 clients while another one reads nothing."""
    with Rig(speaker, 1000) as rig:
        frame = speaker.to_all()
        before = rig.paced(frame, 1000, seconds, 20)
        memory = rig.memory()
        rig.stop_reading()
        after = rig.paced(frame, 999, 4 * seconds, 20)
        found = {"quiet_p99": percentile(before, 0.99), "growth": rig.memory() - memory}
        return found | tail(after) | {"memory": rig.memory()}


def tail(latencies: Sequence[float]) -> Figures:
    """Median and 99th percentile of a distribution."""
    return {"p50": percentile(latencies, 0.5), "p99": percentile(latencies, 0.99)}


LOADS: Final[dict[str, Callable[[Speaker, float], Figures]]] = {
    "broadcast 100": broadcast,
    "routed 1,000": routed,
    "one stopped": stopped,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--reps", type=int)
    parser.add_argument("--only", default="", help="unused for the bus")
    parser.add_argument("--ten-minutes", action="store_true")
    parser.add_argument("--json", type=Path, metavar="OUT")
    asked = parser.parse_args()
    here, absent = speakers()
    results: Results = {}
    problems: list[str] = []
    for repetition in range(asked.reps or (2 if asked.quick else 5)):
        for load, measure in LOADS.items():
            for speaker in here if repetition % 2 else reversed(here):
                try:
                    figures = measure(speaker, 0.5 if asked.quick else 1.5)
                    results.setdefault((load, speaker.name), []).append(figures)
                except (StalledError, OSError) as error:
                    problems.append(f"{load}, {speaker.name}: {error}")
    text = report(results, absent, problems)
    print(text)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "bus.txt").write_text(text + "\n", encoding="utf-8")
    if asked.json is not None:
        rows = {f"{load} / {bus}": found for (load, bus), found in results.items()}
        out = asked.json.with_name(f"bus-{asked.json.name}")
        out.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0 if all((load, "symposium") in results for load in LOADS) else 1


def report(results: Results, absent: dict[str, str], problems: Sequence[str]) -> str:
    """The table, the targets, and unmeasured variants."""
    columns = ("rate", "deliveries", "cpu", "p50", "p99", "quiet_p99", "memory", "growth")
    lines = [
        "",
        "The bus, 1 KB messages; cpu (a delivery), p50 and p99 in microseconds, memory in MB",
    ]
    lines.append(f"{'load':16}{'bus':12}" + "".join(f"{each:>12}" for each in columns))
    for (load, bus), found in sorted(results.items()):
        cells = [middle(found, each) for each in columns]
        lines.append(f"{load:16}{bus:12}" + "".join(f"{each:>12}" for each in cells))
    lines += [verdict(each, results) for each in TARGETS]
    lines += [f"not measured: {name}: {reason}" for name, reason in absent.items()]
    lines += [f"problem: {each}" for each in problems]
    return "\n".join(lines)


def middle(found: Sequence[Figures], figure: str) -> str:
    """The median of a figure in the format of the table."""
    values = [each[figure] for each in found if figure in each]
    if not values:
        return "-"
    middle_one = median(values)
    return f"{middle_one:,.2f}" if abs(middle_one) < SMALL else f"{middle_one:,.0f}"


def verdict(target: Target, results: Results) -> str:
    """Verdict on a target."""
    ours = results.get((target.load, "symposium"), [])
    theirs = results.get((target.load, target.base), [])
    pairs = list(zip(ours, theirs, strict=False))
    if not pairs:
        return f"not measured   {target.text}"
    ratio = median([mine[target.figure] / other[target.figure] for mine, other in pairs])
    if reaches(target, ratio, target.stretch):
        word = "met, stretch"
    else:
        word = "met" if reaches(target, ratio, target.target) else "MISSED"
    bound = ">=" if target.is_least else "<="
    return f"{word:15}{target.text}: {ratio:.2f} (wanted {bound} {target.target})"


def reaches(target: Target, ratio: float, limit: float) -> bool:
    """Whether the ratio meets the limit."""
    return ratio >= limit if target.is_least else ratio <= limit


if __name__ == "__main__":
    sys.exit(main())

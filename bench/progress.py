"""Measure how many log lines a second the daemon acknowledges, compared with SQLite inserts.

`python -m bench.progress` prints a table with the target. A line counts when its answer arrives:
by then it is on disk. The base is the same row inserted with SQLite, one transaction a row, with
the daemon's settings (write-ahead log, `synchronous=FULL`), in the same directory and run.
A missed target is shown and does not change the exit code.
"""

import argparse
import asyncio
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final
from uuid import uuid4

from bench.tasks import AT, fill, run, say
from symposium.bus.client import BusClient, ClientSettings, Identity
from symposium.bus.daemon_options import DaemonOptions
from symposium.bus.envelope import Sender
from symposium.bus.messages.agents import LogProgress, ProgressCategory
from symposium.bus.protocol import Role
from symposium.tasks import tables
from symposium.tasks.model import Category, LogEntry
from symposium.tasks.store import TaskStore

ALONE: Final = "SQLite alone"

WANTED: Final = 0.3
"""Minimum ratio to SQLite's own inserts."""

TASKS: Final = 8
"""Tasks whose agents log at the same time in the second figure."""

TEXT: Final = "Ran the tests of the parser: 212 passed."


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.progress", description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="fewer lines and repetitions")
    options = parser.parse_args()
    lines, reps = (300, 3) if options.quick else (options.lines, options.reps)
    with tempfile.TemporaryDirectory(prefix="symposium-bench-") as place:
        found = asyncio.run(measure(Path(place), lines, reps))
    report(found)
    return 0


def report(found: dict[str, float]) -> None:
    """Print each rate, its ratio to SQLite's own, and whether the target is met."""
    base = found[ALONE]
    say(f"{'acknowledged log lines a second':34} {'median':>8}   ratio")
    for figure, rate in found.items():
        line = f"{figure:34} {rate:8.0f} {rate / base:7.2f}"
        if figure != ALONE:
            word = "met" if rate / base >= WANTED else "MISSED"
            line += f"   {word} (at least {WANTED:g})"
        say(line)


async def measure(place: Path, lines: int, reps: int) -> dict[str, float]:
    """Lines a second, by figure; the figures of a repetition are measured in sequence."""
    home = place / "home"
    home.mkdir(mode=0o700)
    os.environ["SYMPOSIUM_HOME"] = str(home)
    os.environ["SYMPOSIUM_SOCKET"] = str(place / "run" / "s")
    ids = await fill(home, place / "work", TASKS)
    run("daemon", "start")
    who = Identity(Role.CLI, "bench", Sender(str(place)))
    settings = ClientSettings(daemon=DaemonOptions(place / "run" / "s"))
    taken: dict[str, list[float]] = {}
    try:
        async with BusClient(who, settings=settings) as bus:
            for _ in range(reps):
                alone = await asyncio.to_thread(inserts, place, ids[0], lines)
                taken.setdefault(ALONE, []).append(alone)
                taken.setdefault("one agent", []).append(await logged(bus, ids[:1], lines))
                taken.setdefault(f"{TASKS} agents", []).append(await logged(bus, ids, lines))
    finally:
        run("daemon", "stop")
    return {figure: lines / median(each) for figure, each in taken.items()}


def inserts(place: Path, task: str, lines: int) -> float:
    """Seconds for inserting these rows with SQLite."""
    path = place / f"{uuid4()}.db"
    TaskStore(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous=FULL")
    entries = [LogEntry(0, str(uuid4()), task, AT, Category.INFO, TEXT) for _ in range(lines)]
    begun = time.perf_counter()
    for entry in entries:
        tables.append(connection, entry)
    took = time.perf_counter() - begun
    connection.close()
    return took


async def logged(bus: BusClient, tasks: Sequence[str], lines: int) -> float:
    """Seconds until these lines are acknowledged; each agent sends the next after an answer."""

    async def log(task: str, count: int) -> None:
        for _ in range(count):
            message = LogProgress(
                project_path="", taskspace_uuid=task, message=TEXT, category=ProgressCategory.INFO
            )
            await bus.request(message)

    begun = time.perf_counter()
    async with asyncio.TaskGroup() as agents:
        for task in tasks:
            agents.create_task(log(task, lines // len(tasks)))
    return time.perf_counter() - begun


if __name__ == "__main__":
    sys.exit(main())

"""Measure the cost of a list and of a view of one task with many tasks and with few.

`python -m bench.tasks` prints a table with the targets.
A missed target is shown and does not change the exit code.
"""

import argparse
import asyncio
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final
from uuid import UUID, uuid4

from symposium.bus.client import BusClient, ClientSettings, Identity
from symposium.bus.daemon_options import DaemonOptions
from symposium.bus.envelope import Sender
from symposium.bus.messages.tasks import FindTaskspace, ListInbox, ListTaskspaces, ShowTaskspace
from symposium.bus.protocol import BusRequest, Role
from symposium.tasks import tables
from symposium.tasks.engine_context import file_of
from symposium.tasks.model import Category, Layout, LogEntry, Taskspace, TaskState
from symposium.tasks.store import TaskStore
from symposium.tasks.tables import save
from symposium.tasks.task_files import task_file_text

AT: Final = "2026-01-01T00:00:00.000Z"
FEW: Final = 10
"""Number of tasks in the base of ratios."""

BEYOND: Final = ", beyond task --help"
"""Suffix of the names of differences between two commands."""

FLOOR: Final = 20.0
"""Milliseconds below which a difference between two commands is noise and not a base."""

LINES: Final = 10
"""Lines in the log of each task."""

GIT: Final = shutil.which("git") or "git"
WHO: Final = ("-c", "user.name=b", "-c", "user.email=b@localhost")
PROGRAM: Final = Path(sys.executable).with_name("symposium")


@dataclass(frozen=True, slots=True)
class Target:
    """A row of the report.

    Attributes:
        figure: name of the figure.
        limit: maximum milliseconds.
        ratio: maximum ratio to the same figure with few tasks.
    """

    figure: str
    limit: float
    ratio: float


TARGETS: Final = (
    Target("list, over the bus", 300, 10),
    Target("inbox, over the bus", 300, 3),
    Target("one by name, over the bus", 100, 3),
    Target("one shown, over the bus", 100, 3),
    Target(f"task list{BEYOND}", 300, 3),
    Target(f"task show{BEYOND}", 100, 3),
    Target(f"task log{BEYOND}", 100, 3),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.tasks", description=__doc__)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--reps", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="fewer tasks and repetitions")
    options = parser.parse_args()
    count, reps = (1_000, 3) if options.quick else (options.tasks, options.reps)
    found: dict[int, dict[str, float]] = {}
    for each in (FEW, count):
        with tempfile.TemporaryDirectory(prefix="symposium-bench-") as place:
            found[each] = asyncio.run(measure(Path(place), each, reps))
    report(found[FEW], found[count], count)
    return 0


def report(few: dict[str, float], many: dict[str, float], count: int) -> None:
    """Print every figure, and its target if it has one."""
    targets = {each.figure: each for each in TARGETS}
    say(f"{'milliseconds, median':34} {FEW:>8} {count:>8}   ratio")
    for figure, value in many.items():
        target = targets.get(figure)
        is_small = few[figure] < (FLOOR if figure.endswith(BEYOND) else 0.1)
        ratio = None if is_small else value / few[figure]
        line = f"{figure:34} {few[figure]:8.1f} {value:8.1f} "
        line += "      -" if ratio is None else f"{ratio:7.2f}"
        say(line if target is None else f"{line}   {verdict(target, value, ratio)}")


def verdict(target: Target, value: float, ratio: float | None) -> str:
    """Compare a figure with its target; without a ratio, only with the limit."""
    if ratio is None:
        word = "met" if value <= target.limit else "MISSED"
        return f"{word} (at most {target.limit:g} ms; {FEW} tasks take too little to compare)"
    is_met = value <= target.limit and (ratio <= target.ratio or value <= target.limit / 10)
    word = "met" if is_met else "MISSED"
    return f"{word} (at most {target.limit:g} ms, {target.ratio:g} times)"


async def measure(place: Path, count: int, reps: int) -> dict[str, float]:
    """Medians in milliseconds, by figure."""
    home = place / "home"
    home.mkdir(mode=0o700)
    os.environ["SYMPOSIUM_HOME"] = str(home)
    os.environ["SYMPOSIUM_SOCKET"] = str(place / "run" / "s")
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):
        os.environ.pop(name, None)
    ids = await fill(home, place / "work", count)
    name, one = f"task {count // 2}", ids[count // 2]
    begun = time.perf_counter()
    run("daemon", "start")
    who = Identity(Role.CLI, "bench", Sender(str(place)))
    settings = ClientSettings(daemon=DaemonOptions(place / "run" / "s"))
    try:
        async with BusClient(who, settings=settings) as bus:
            await bus.request(ListInbox())
            found = {"start of the daemon": 1000 * (time.perf_counter() - begun)}
            found |= await over_the_bus(bus, name, one, reps)
        found |= await on_the_command_line(name, one, reps)
    finally:
        run("daemon", "stop")
    return found


async def over_the_bus(bus: BusClient, name: str, one: str, reps: int) -> dict[str, float]:
    """Milliseconds until the daemon answers, by figure."""
    requests: dict[str, BusRequest[Any]] = {
        "list": ListTaskspaces(limit=100, is_archived=False, is_urgent_first=True),
        "inbox": ListInbox(),
        "one by name": FindTaskspace(named=name),
        "one shown": ShowTaskspace(taskspace_uuid=one),
    }
    return {
        f"{figure}, over the bus": await timed(lambda each=each: bus.request(each), reps)
        for figure, each in requests.items()
    }


async def on_the_command_line(name: str, one: str, reps: int) -> dict[str, float]:
    """Milliseconds of commands, and the part beyond their start."""
    commands = {
        "task --help": ("task", "--help"),
        "task list": ("task", "list"),
        "task show": ("task", "show", name),
        "task log": ("task", "log", one[:8]),
    }
    found: dict[str, float] = {}
    for figure, words in commands.items():
        before = processor_time()
        found[figure] = await timed(lambda words=words: asyncio.to_thread(run, *words), reps)
        found[f"{figure}, processor time"] = (processor_time() - before) / reps
    start = found["task --help"]
    beyond = {f"{each}{BEYOND}": found[each] - start for each in list(commands)[1:]}
    return found | beyond


def processor_time() -> float:
    """Processor time of ended commands in milliseconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (used.ru_utime + used.ru_stime)


async def timed(work: Callable[[], Awaitable[Any]], reps: int) -> float:
    """Median milliseconds of some work."""
    taken: list[float] = []
    for _ in range(reps):
        begun = time.perf_counter()
        await work()
        taken.append(1000 * (time.perf_counter() - begun))
    return median(taken)


async def fill(home: Path, work: Path, count: int) -> Sequence[str]:
    """Store tasks, each with a log and an existing worktree; return their ids."""
    journal = TaskStore(home / "taskspaces.db")
    tasks = [make(work, number) for number in range(count)]
    await asyncio.to_thread(make_worktrees, tasks)

    def write(connection: sqlite3.Connection) -> None:
        for each in tasks:
            save(connection, each)
            for line in range(LINES):
                text = f"line {line}"
                entry = LogEntry(0, str(uuid4()), each.id, AT, Category.INFO, text)
                tables.append(connection, entry)
        entry = LogEntry(0, str(uuid4()), tasks[0].id, AT, Category.QUESTION, "which one?")
        tables.append(connection, entry)

    await journal.write(write)
    for each in tasks:
        log = await journal.read(
            lambda connection, id_=each.id: tables.latest(connection, id_, LINES + 1)
        )
        file = file_of(each)
        file.parent.mkdir(parents=True)
        # Not synced to disk: ten thousand files would take a minute.
        file.write_text(task_file_text(each, log), encoding="utf-8")
    journal.close()
    return [each.id for each in tasks]


def make_worktrees(tasks: Sequence[Taskspace]) -> None:
    """Create a clone for each project, one git worktree, and folders for the other tasks."""
    for project in dict.fromkeys(Path(each.project) for each in tasks):
        project.mkdir(parents=True)
        git(project, "init", "-q", "-b", "main")
        git(project, *WHO, "commit", "-q", "--allow-empty", "-m", "first")
    shown = tasks[len(tasks) // 2]
    for each in tasks:
        worktree = Path(each.worktree)
        if each is shown:
            git(Path(each.project), "worktree", "add", "-q", "-b", each.branch, str(worktree))
        else:
            worktree.mkdir(parents=True)
            (worktree / ".git").write_text("gitdir: nowhere\n", encoding="utf-8")


def git(place: Path, *words: str) -> None:
    """Run git."""
    subprocess.run([GIT, *words], cwd=place, check=True, capture_output=True)


def make(work: Path, number: int) -> Taskspace:
    """Create a task of one of a hundred projects."""
    project = work / f"project-{number % 100}"
    at = f"2026-01-{1 + number % 28:02}T{number % 24:02}:00:00.000Z"
    return Taskspace(
        id=str(UUID(int=(number * 2_654_435_761 % 2**32 << 96) + number)),
        project=str(project),
        layout=Layout.BESIDE,
        name=f"task {number}",
        worktree=str(project.with_suffix(".tasks") / f"task-{number}"),
        branch=f"symposium/task-{number}",
        created_at=at,
        activated_at=at,
        base="refs/heads/main",
        standing=TaskState.READY,
    )


def run(*words: str) -> None:
    """Run a symposium command and ignore its output."""
    subprocess.run([PROGRAM, *words], capture_output=True, check=False)


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

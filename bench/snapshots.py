"""The cost of snapshots of a worktree of fifty thousand files, compared with `git status`.

`python -m bench.snapshots` prints a table with the median and minimum of each figure, and verdicts
on the targets. Each figure is divided by the `git status` of the same repetition.
"""

import argparse
import asyncio
import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

from symposium.tasks.creation import CreateRequest
from symposium.tasks.engine import Engine
from symposium.tasks.engine_context import EngineContext
from symposium.tasks.store import TaskStore

IN_EACH: Final = 100
"""Files in one folder."""

SIZE: Final = 400
"""Bytes in one file."""


STATUS: Final = "git status"
CHANGED: Final = "two files changed"
UNDO: Final = "undo"
WATCHER: Final = "watcher, MB"

RATIOS: Final = {CHANGED: 0.25, UNDO: 3.0}
"""Maximum ratio to the `git status` of the same repetition."""

MAX_MB: Final = 40.0
"""Maximum memory for the known files and their watches."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.snapshots", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--reps", type=int, help="repetitions (7, quick 3)")
    parser.add_argument("--memory-of", nargs=2, help=argparse.SUPPRESS)
    options, _ = parser.parse_known_args()
    if options.memory_of:
        place, task = options.memory_of
        say(str(asyncio.run(memory_of(Path(place), task))))
        return
    reps = options.reps or (3 if options.quick else 7)
    with tempfile.TemporaryDirectory(prefix="symposium-bench-") as place:
        clone = make_clone(Path(place), options.files)
        found = asyncio.run(measure(Path(place), clone, reps))
    say(f"snapshots: {options.files} files, {reps} repetitions, in milliseconds")
    for name, figures in found.items():
        say(f"  {name:28} median {median(figures):6.0f}   least {min(figures):6.0f}")
    for line in verdicts(found):
        say(line)


def verdicts(found: dict[str, list[float]]) -> list[str]:
    """Verdicts on the targets, one line each."""
    lines: list[str] = []
    for name, limit in RATIOS.items():
        pairs = zip(found[name], found[STATUS], strict=False)
        ratio = median(figure / status for figure, status in pairs)
        verdict = "met" if ratio <= limit else "MISSED"
        lines.append(f"  {name}: {ratio:.2f} of {STATUS}; at most {limit:g}: {verdict}")
    memory = max(found[WATCHER])
    verdict = "met" if memory <= MAX_MB else "MISSED"
    return [*lines, f"  {WATCHER}: {memory:.1f}; at most {MAX_MB:g}: {verdict}"]


def memory_mb() -> float:
    """Resident memory of this process."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def make_clone(place: Path, count: int) -> Path:
    """Create a repository of `count` files."""
    clone = place / "clone"
    for number in range(count // IN_EACH):
        folder = clone / f"{number % 25:02}" / f"{number:04}"
        folder.mkdir(parents=True)
        for each in range(IN_EACH):
            line = f"{number} {each}\n"
            (folder / f"{each:03}.py").write_text(line * (SIZE // len(line)), encoding="utf-8")
    git(clone, "init", "-q", "-b", "main")
    git(clone, "add", "-A")
    git(clone, "-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-qm", "first")
    git(clone, "repack", "-qad")
    return clone


async def measure(place: Path, clone: Path, reps: int) -> dict[str, list[float]]:
    """Milliseconds of each repetition, by operation."""
    engine = Engine(EngineContext(TaskStore(place / "taskspaces.db"), place / "state"))
    await engine.start()
    found: dict[str, list[float]] = {}

    async def timed(name: str, work: Callable[[], Awaitable[Any]]) -> None:
        begun = time.perf_counter()
        await work()
        found.setdefault(name, []).append(1000 * (time.perf_counter() - begun))

    task = await engine.create(CreateRequest(clone, "Bench"))
    tree = Path(task.worktree)
    files = await asyncio.to_thread(spread, tree, 2 * reps)

    async def keep() -> None:
        await engine.history.snapshot(task.id, "tool call")

    for rep in range(reps):
        await timed(STATUS, lambda: asyncio.to_thread(git, tree, "status", "--porcelain"))
        await timed("nothing changed", keep)
        for file in files[2 * rep : 2 * rep + 2]:
            file.write_text(f"{rep}\n", encoding="utf-8")
        await timed(CHANGED, keep)
        files[0].unlink(missing_ok=True)
        await timed(UNDO, lambda: engine.history.undo(task.id))
    engine.close()
    again = Engine(EngineContext(TaskStore(place / "taskspaces.db"), place / "state"))
    await again.start()
    await timed("nothing changed, daemon new", lambda: again.history.snapshot(task.id, "again"))
    again.close()
    words = (sys.executable, "-m", "bench.snapshots", "--memory-of", str(place), task.id)
    done = await asyncio.to_thread(subprocess.run, words, capture_output=True, check=True)
    found[WATCHER] = [float(done.stdout)]
    return found


async def memory_of(place: Path, task: str) -> float:
    """MB by which a process grows when it watches the files of a task."""
    engine = Engine(EngineContext(TaskStore(place / "taskspaces.db"), place / "state"))
    await engine.start()
    await engine.get(task)
    gc.collect()
    before = memory_mb()
    await engine.history.snapshot(task, "first")
    gc.collect()
    grown = memory_mb() - before
    engine.close()
    return grown


def spread(tree: Path, count: int) -> list[Path]:
    """`count` files from all parts of the tree."""
    files = sorted(tree.rglob("*.py"))
    return files[:: max(1, len(files) // count)]


def git(directory: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=directory, check=True, capture_output=True)


def say(line: str) -> None:
    print(line)


if __name__ == "__main__":
    main()

"""What keeping a worktree of fifty thousand files costs, beside one `git status` of it.

`python -m bench.snapshots` prints a table; medians, and the least of each.
"""

import argparse
import asyncio
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

from symposium.taskspaces.creation import Order
from symposium.taskspaces.engine import Engine
from symposium.taskspaces.ground import Ground
from symposium.taskspaces.journal import Journal

IN_EACH: Final = 100
"""Files of one folder."""

SIZE: Final = 400
"""Bytes of one file."""


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.snapshots", description=__doc__)
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--reps", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="symposium-bench-") as place:
        clone = make_clone(Path(place), options.files)
        found = asyncio.run(measure(Path(place), clone, options.reps))
    say(f"{options.files} files, {options.reps} repetitions, in milliseconds")
    for name, figures in found.items():
        say(f"{name:28} median {median(figures):6.0f}   least {min(figures):6.0f}")


def make_clone(place: Path, count: int) -> Path:
    """A repository of so many files."""
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
    return clone


async def measure(place: Path, clone: Path, reps: int) -> dict[str, list[float]]:
    """Milliseconds of each repetition, by what is done."""
    engine = Engine(Ground(Journal(place / "taskspaces.db"), place / "state"))
    await engine.start()
    found: dict[str, list[float]] = {}

    async def timed(name: str, work: Callable[[], Awaitable[Any]]) -> None:
        begun = time.perf_counter()
        await work()
        found.setdefault(name, []).append(1000 * (time.perf_counter() - begun))

    task = await engine.create(Order(clone, "Bench"))
    tree = Path(task.worktree)
    files = await asyncio.to_thread(spread, tree, 2 * reps)

    async def keep() -> None:
        await engine.history.snapshot(task.id, "tool call")

    for rep in range(reps):
        await timed("git status", lambda: asyncio.to_thread(git, tree, "status", "--porcelain"))
        await timed("nothing changed", keep)
        for file in files[2 * rep : 2 * rep + 2]:
            file.write_text(f"{rep}\n", encoding="utf-8")
        await timed("two files changed", keep)
        files[0].unlink(missing_ok=True)
        await timed("undo", lambda: engine.history.undo(task.id))
    engine.close()
    again = Engine(Ground(Journal(place / "taskspaces.db"), place / "state"))
    await again.start()
    await timed("nothing changed, daemon new", lambda: again.history.snapshot(task.id, "again"))
    again.close()
    return found


def spread(tree: Path, count: int) -> list[Path]:
    """So many of its files, from everywhere."""
    files = sorted(tree.rglob("*.py"))
    return files[:: max(1, len(files) // count)]


def git(directory: Path, *words: str) -> None:
    """Run git there."""
    subprocess.run(["git", *words], cwd=directory, check=True, capture_output=True)


def say(line: str) -> None:
    """Print a line."""
    print(line)


if __name__ == "__main__":
    main()

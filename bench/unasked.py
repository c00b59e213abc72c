"""One tool call makes, the next one destroys, and nobody was asked: what does undo bring back?

`python -m bench.unasked --rounds 500 --busy 2` runs that many turns of an agent that runs tools
without asking, beside so many busy loops, and undoes each. A round is wrong if a byte is missing
after `undo`. The exit code is 1 if one was.
"""

import argparse
import asyncio
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

from symposium.bus.client import BusClient, Identity
from symposium.bus.envelope import Sender
from symposium.bus.messages.worktrees import UndoTaskspace
from symposium.bus.protocol import Role
from symposium.config.paths import paths
from symposium.sessions.client import EVENT, SAY, WATCH, reach
from symposium.sessions.session import SessionStore

AGENT: Final = Path(__file__).parents[1] / "tests/process/agents/chaos_agent.py"
BUSY: Final = "while True: pass"
PATIENCE: Final = 120.0
"""Seconds of one turn, beside busy loops."""


def main() -> int:
    """Run the rounds, and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.unasked", description=__doc__)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--busy", type=int, default=2, help="busy loops beside it (2)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="symposium-unasked-") as place, busy(options.busy):
        os.environ.update(
            SYMPOSIUM_HOME=f"{place}/home", SYMPOSIUM_RECOMMENDATIONS="none", HOME=place
        )
        task = make_task(Path(place))
        try:
            wrong, taken = asyncio.run(rounds(task, options.rounds))
        finally:
            symposium("session", "kill", task["id"])
            symposium("daemon", "stop")
    say(
        f"{options.rounds} rounds beside {options.busy} busy loops: {len(wrong)} wrong;"
        f" {median(taken):.2f} s a round at the median"
    )
    for each in wrong:
        say(f"  {each}")
    return 1 if wrong else 0


@contextmanager
def busy(count: int) -> Generator[None]:
    """Keep so many cores busy."""
    loops = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for each in loops:
            each.kill()
            each.wait()


def make_task(place: Path) -> dict[str, Any]:
    """One task for all rounds, with its agent."""
    clone = place / "clone"
    clone.mkdir()
    git(clone, "init", "-q", "-b", "main")
    git(clone, "config", "user.name", "b")
    git(clone, "config", "user.email", "b@localhost")
    (clone / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "first")
    agent = shlex.join([sys.executable, str(AGENT)])
    words = ("task", "new", "rounds", "--agent", agent, "--project", str(clone), "--json")
    return json.loads(symposium(*words))


async def rounds(task: dict[str, Any], count: int) -> tuple[list[str], list[float]]:
    """Which rounds were wrong, and the seconds of each."""
    store, tree = SessionStore(paths()), Path(task["worktree"])
    over = asyncio.Event()
    identity = Identity(Role.CLI, "bench", Sender(str(tree), None, None))
    wrong: list[str] = []
    taken: list[float] = []

    def told(event: Any) -> None:
        if event["type"] == "result":
            over.set()

    async with BusClient(identity) as bus, reach(store, task["id"], {EVENT: told}) as keeper:
        # The first turn is about the task's name.
        if not any(each["type"] == "result" for each in (await keeper.ask(WATCH))["events"]):
            await over.wait()
        over.clear()
        for number in range(count):
            begun = time.monotonic()
            await keeper.ask(SAY, {"text": "\n".join(calls(number))})
            async with asyncio.timeout(PATIENCE):
                await over.wait()
            over.clear()
            await bus.request(UndoTaskspace(taskspace_uuid=task["id"]), patience=PATIENCE)
            taken.append(time.monotonic() - begun)
            found = contents(tree)
            if found != (expected := (f"{number}\n", f"one\ntwo\nmore {number}\n")):
                wrong.append(f"round {number}: {found} in place of {expected}")
            if (number + 1) % 50 == 0:
                say(f"  {number + 1} rounds, {len(wrong)} wrong")
    return wrong, taken


def calls(number: int) -> list[str]:
    """What the agent does in one round; the first call undoes the round before."""
    return [
        "$ rm -rf new; git checkout -q a.txt",
        f"$ mkdir new; echo {number} > new/file",
        f"$ echo more {number} >> a.txt",
        "$ rm -rf new; git checkout -q a.txt",
    ]


def contents(tree: Path) -> tuple[str, str]:
    """What is there after the undo."""
    made, changed = tree / "new/file", tree / "a.txt"
    return text(made), text(changed)


def text(file: Path) -> str:
    """Its contents."""
    return file.read_text(encoding="utf-8") if file.exists() else "missing"


def symposium(*words: str) -> str:
    """Run a command; what it printed."""
    command = [sys.executable, "-P", "-m", "symposium", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def git(directory: Path, *words: str) -> None:
    """Run git there."""
    subprocess.run(["git", *words], cwd=directory, check=True, capture_output=True)


def say(line: str) -> None:
    """Print a line."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())

"""Check that undo restores files which one tool call wrote and the next one deleted, unasked.

`python -m bench.unasked --rounds 500 --busy 2` runs that many turns of an agent that runs tools
without asking, beside so many busy loops, and undoes each. A round is wrong if a byte is missing
after `undo`. The exit code is 1 if any round was wrong.
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
TIMEOUT: Final = 120.0
"""Timeout of one turn in seconds, with busy loops."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.unasked", description=__doc__)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--busy", type=int, default=2, help="number of busy loops (2)")
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
    """Run `count` busy loops."""
    loops = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for each in loops:
            each.kill()
            each.wait()


def make_task(place: Path) -> dict[str, Any]:
    """Create one task for all rounds, with its agent."""
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
    """Run the rounds; return the wrong ones and the seconds of each."""
    store, tree = SessionStore(paths()), Path(task["worktree"])
    over = asyncio.Event()
    identity = Identity(Role.CLI, "bench", Sender(str(tree), None, None))
    wrong: list[str] = []
    taken: list[float] = []

    def told(event: Any) -> None:
        if event["type"] == "result":
            over.set()

    async with BusClient(identity) as bus, reach(store, task["id"], {EVENT: told}) as server:
        # The first turn is about the task's name.
        if not any(each["type"] == "result" for each in (await server.ask(WATCH))["events"]):
            await over.wait()
        over.clear()
        for number in range(count):
            begun = time.monotonic()
            await server.ask(SAY, {"text": "\n".join(calls(number))})
            async with asyncio.timeout(TIMEOUT):
                await over.wait()
            over.clear()
            await bus.request(UndoTaskspace(taskspace_uuid=task["id"]), timeout=TIMEOUT)
            taken.append(time.monotonic() - begun)
            found = contents(tree)
            if found != (expected := (f"{number}\n", f"one\ntwo\nmore {number}\n")):
                wrong.append(f"round {number}: {found} instead of {expected}")
            if (number + 1) % 50 == 0:
                say(f"  {number + 1} rounds, {len(wrong)} wrong")
    return wrong, taken


def calls(number: int) -> list[str]:
    """Tool calls of the agent in one round; the first one reverts the round before."""
    return [
        "$ rm -rf new; git checkout -q a.txt",
        f"$ mkdir new; echo {number} > new/file",
        f"$ echo more {number} >> a.txt",
        "$ rm -rf new; git checkout -q a.txt",
    ]


def contents(tree: Path) -> tuple[str, str]:
    """Contents of the files after the undo."""
    made, changed = tree / "new/file", tree / "a.txt"
    return text(made), text(changed)


def text(file: Path) -> str:
    """Its contents."""
    return file.read_text(encoding="utf-8") if file.exists() else "missing"


def symposium(*words: str) -> str:
    """Run a command; return its output."""
    command = [sys.executable, "-P", "-m", "symposium", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def git(directory: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=directory, check=True, capture_output=True)


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())

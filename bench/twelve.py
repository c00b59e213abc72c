"""Measure response times of the command line with and without twelve streaming agents.

`python -m bench.twelve` prints a table with the targets.
A missed target is shown and does not change the exit code.
"""

import argparse
import asyncio
import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from bench.tasks import PROGRAM, WHO, git, run, say
from symposium.bus.client import BusClient, ClientSettings, Identity
from symposium.bus.daemon_options import DaemonOptions
from symposium.bus.envelope import Sender
from symposium.bus.messages.agents import SignalUser
from symposium.bus.messages.broker import DaemonStatus
from symposium.bus.messages.tasks import AnswerInbox, ListInbox, ListTaskspaces
from symposium.bus.protocol import Role

AGENT: Final = Path("tests/process/agents/streaming_agent.py").absolute()
AGENTS: Final = 12
RATE: Final = ("50", "120")
"""Updates a second of an agent, and duration in seconds."""

MB: Final = 1024 * 1024
MAX_RATIO: Final = 10.0
MAX_TIME: Final = 1000.0
MAX_GROWTH: Final = 64.0


@dataclass(frozen=True, slots=True)
class Found:
    """Measured values.

    Attributes:
        alone, streaming: milliseconds from a question to its answer, without and with agents.
        growth: growth of the daemon in MB.
    """

    alone: float
    streaming: float
    growth: float


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.twelve", description=__doc__)
    parser.add_argument("--reps", type=int, default=30)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="symposium-bench-") as place:
        found = asyncio.run(measure(Path(place), 5 if options.quick else options.reps))
    report(found)
    return 0


def report(found: Found) -> None:
    """Print the figures with their targets."""
    ratio = found.streaming / found.alone
    rows = (
        (f"question to answer, {AGENTS} agents / none", ratio, MAX_RATIO, ""),
        ("question to answer with them", found.streaming, MAX_TIME, " ms"),
        ("growth of the daemon meanwhile", found.growth, MAX_GROWTH, " MB"),
    )
    say(f"question to answer, median: {found.alone:.1f} ms alone, {found.streaming:.1f} ms with")
    for name, value, limit, unit in rows:
        word = "met" if value <= limit else "MISSED"
        say(f"{name:42} {value:6.2f}{unit}   {word} (at most {limit:g}{unit})")


async def measure(place: Path, reps: int) -> Found:
    """Ask and answer without agents, then with all agents and a watcher that reads nothing."""
    os.environ["SYMPOSIUM_HOME"] = str(place / "home")
    os.environ["SYMPOSIUM_RECOMMENDATIONS"] = "none"
    socket_path = place / "run" / "s"
    os.environ["SYMPOSIUM_SOCKET"] = str(socket_path)
    clone = place / "clone"
    clone.mkdir()
    git(clone, "init", "-q", "-b", "main")
    git(clone, *WHO, "commit", "-q", "--allow-empty", "-m", "first")
    run("daemon", "start")
    tasks: list[str] = []
    who = Identity(Role.CLI, "bench", Sender(str(place)))
    settings = ClientSettings(daemon=DaemonOptions(socket_path))
    try:
        async with BusClient(who, settings=settings) as bus:
            quiet = await asyncio.to_thread(make_task, clone, "asks", "none")
            alone = await rounds(bus, quiet, reps)
            before = (await bus.request(DaemonStatus())).memory
            agent = shlex.join([sys.executable, str(AGENT), *RATE])
            for number in range(AGENTS):
                name = f"streams {number}"
                tasks.append(await asyncio.to_thread(make_task, clone, name, agent))
            with unread_watcher(socket_path):
                streaming = await rounds(bus, quiet, reps)
            after = (await bus.request(DaemonStatus())).memory
    finally:
        for each in tasks:
            run("session", "kill", each)
        run("daemon", "stop")
    return Found(alone, streaming, (after - before) / MB)


def make_task(clone: Path, name: str, agent: str) -> str:
    """Create a task on the command line; return its id."""
    words = ("task", "new", name, "Stream", "--agent", agent, "--project", str(clone), "--json")
    done = subprocess.run([PROGRAM, *words], capture_output=True, check=True)
    return json.loads(done.stdout)["id"]


async def rounds(bus: BusClient, task: str, reps: int) -> float:
    """Median milliseconds to ask, list the tasks and the inbox, and answer."""
    taken: list[float] = []
    for _ in range(reps):
        begun = time.perf_counter()
        await bus.request(SignalUser(project_path="", taskspace_uuid=task, message="which?"))
        await bus.request(ListTaskspaces(limit=100, is_archived=False, is_urgent_first=True))
        for item in (await bus.request(ListInbox())).items:
            await bus.request(AnswerInbox(item=item.id, answer="seen", by="bench"))
        taken.append(1000 * (time.perf_counter() - begun))
    return median(taken)


@contextmanager
def unread_watcher(path: Path) -> Generator[None]:
    """Connect a peer that subscribes to all traffic and does not read it."""
    payload = {"protocol": 2, "role": "cli", "name": "deaf", "subscribes": ["*"]}
    sender = {"workingDirectory": "/"}
    hello = {"type": "hello", "id": "h", "sender": sender, "payload": payload}
    with socket.socket(socket.AF_UNIX) as watcher:
        watcher.connect(str(path))
        watcher.sendall(json.dumps(hello).encode() + b"\n")
        yield


if __name__ == "__main__":
    sys.exit(main())

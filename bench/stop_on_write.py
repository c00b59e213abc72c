"""What the stop of an agent in its own writes costs a line, beside the same lines without it.

`python -m bench.stop_on_write` prints a table and checks the target: at most 25 microseconds a line
for an agent that runs tools without asking, and nothing for one that asks.
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Final, Literal

from peerwire.jsonrpc.transport import Overlong, Transport
from peerwire.transports.command import Command
from peerwire.transports.memory import TappedTransport
from peerwire.transports.process import ProcessTransport, spawn
from symposium.keepers.agent_stop import AgentStop
from symposium.keepers.tool_calls import ToolCalls

LIMIT: Final = 25.0
"""Microseconds a line that the stop may cost (issue part 4, 2)."""

NOISE: Final = 1.0
"""Microseconds a line below which two medians do not differ on a shared machine."""

Way = Literal["heard only", "asks", "stopped"]
WAYS: Final[tuple[Way, ...]] = ("heard only", "asks", "stopped")

CHUNK: Final = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"one","update":'
    b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"some words"}}}}\n'
)
ASKS: Final = (
    b'{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":'
    b'{"sessionId":"one","toolCall":{"toolCallId":"1"},"options":[]}}\n'
)

AGENT: Final = """
import os, sys
first, line, count = sys.argv[1].encode(), sys.argv[2].encode(), int(sys.argv[3])
os.write(1, first)
sys.stdin.readline()
for _ in range(count):
    os.write(1, line)
"""


class Counter:
    """Counts lines."""

    def __init__(self, count: int) -> None:
        self._left = count
        self.first = asyncio.Event()
        self.all = asyncio.Event()

    def lines_received(self, lines: Sequence[bytes | Overlong]) -> None:
        """Count."""
        self.first.set()
        self._left -= len(lines)
        if self._left <= 0:
            self.all.set()

    def writing_paused(self) -> None:
        """Nothing: we send one line."""

    def writing_resumed(self) -> None:
        """Nothing."""

    def ended(self, error: Exception | None) -> None:
        """Whether it is early is seen by the count."""
        del error
        self.all.set()


async def measure(way: Way, count: int) -> float:
    """Microseconds a line from the first to the last, each in a write of its own."""
    calls = ToolCalls()

    def announces(line: bytes | Overlong, called_at: float | None = None) -> bool:
        del called_at
        return not isinstance(line, Overlong) and calls.heard(line) is not None

    first = CHUNK if way == "stopped" else ASKS
    words = (first.decode(), CHUNK.decode(), str(count))
    agent = spawn(Command((sys.executable, "-ISc", AGENT, *words)))
    async with AgentStop(announces, lambda: None) as stop:
        counter = Counter(count + 1)
        _listened(agent, way, stop, announces).start(counter)
        await counter.first.wait()
        begun = time.perf_counter()
        agent.send(b"go")
        await counter.all.wait()
        taken = time.perf_counter() - begun
        await agent.stop()
    return 1e6 * taken / count


def _listened(
    agent: ProcessTransport,
    way: Way,
    stop: AgentStop,
    announces: Callable[[bytes | Overlong], bool],
) -> Transport:
    if way != "heard only":
        return stop.listen(agent)

    def seen(direction: Literal["received", "sent"], line: bytes | Overlong) -> None:
        if direction == "received":
            announces(line)

    return TappedTransport(agent, seen)


def main() -> int:
    """Measure in turns, print, and check the target."""
    parser = argparse.ArgumentParser(prog="python -m bench.stop_on_write", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter repetitions")
    parser.add_argument("--reps", type=int, help="repetitions (9, quick 3)")
    parser.add_argument("--lines", type=int, help="lines of each (20000, quick 5000)")
    options, _ = parser.parse_known_args()
    reps = options.reps or (3 if options.quick else 9)
    count = options.lines or (5000 if options.quick else 20_000)
    found: dict[Way, list[float]] = {way: [] for way in WAYS}
    for _ in range(reps):
        for way in WAYS:
            found[way].append(asyncio.run(measure(way, count)))
    say(f"stop in an agent's writes: {reps} repetitions of {count} lines, microseconds a line")
    for way, figures in found.items():
        say(f"  {way:12} median {median(figures):6.2f}   least {min(figures):6.2f}")
    base = found["heard only"]
    limits: dict[Way, float] = {"stopped": LIMIT, "asks": NOISE}
    for way, limit in limits.items():
        # Of the least: what else the machine does adds to some repetitions, and takes from none.
        cost = min(found[way]) - min(base)
        verdict = "met" if cost <= limit else "MISSED"
        say(f"  {way} costs {cost:.2f} a line; at most {limit:g}: {verdict}")
    if (load := os.getloadavg()[0]) > (os.cpu_count() or 1):
        say(f"  The machine was busy (load {load:.1f}): repeat this on a quiet one.")
    return 0


def say(line: str) -> None:
    """Print a line."""
    print(line)


if __name__ == "__main__":
    sys.exit(main())

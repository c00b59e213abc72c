"""The cost per line of stopping an agent during its own writes.

`python -m bench.stop_on_write` prints a table and checks the targets: at most 25 microseconds a
line on one processor for an agent that runs tools without asking, and nothing for one that asks.

A stop is a round trip between two processes. Between two processors most of its time is the
wake-up of the other one, which differs tenfold between machines. So each repetition also measures
a round trip of one byte, and the stop where the scheduler chooses is compared with that. The
processor time is that of both processes, start and end included; other programs change it little.
"""

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Final, Literal

from peerwire.jsonrpc.transport import OversizedLine, Transport
from peerwire.transports.command import Command
from peerwire.transports.memory import TappedTransport
from peerwire.transports.process import ProcessTransport, spawn
from symposium.sessions.agent_stop import AgentStop
from symposium.sessions.tool_call_snapshots import OpenToolCalls

LIMIT: Final = 25.0
"""Maximum cost of the stop in microseconds a line on one processor (issue part 4, 2)."""

FREE_LIMIT: Final = 1.5
"""Maximum cost in round trips of one byte when the scheduler chooses the processors."""

NOISE: Final = 1.0
"""Difference in microseconds a line that is noise on a shared machine."""

Way = Literal["heard only", "asks", "stopped"]
WAYS: Final[tuple[Way, ...]] = ("heard only", "asks", "stopped")

Place = Literal["one processor", "free"]
PLACES: Final[tuple[Place, ...]] = ("one processor", "free")

ROUND_TRIP: Final = "one byte, there and back"

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

ECHO: Final = """
import os, sys
os.write(1, b"x")
for _ in range(int(sys.argv[1])):
    os.write(1, os.read(0, 1))
"""


class Counter:
    """Counts lines."""

    def __init__(self, count: int) -> None:
        self._left = count
        self.first = asyncio.Event()
        self.all = asyncio.Event()

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        """Count."""
        self.first.set()
        self._left -= len(lines)
        if self._left <= 0:
            self.all.set()

    def writing_paused(self) -> None:
        """Ignore it: the measurement sends one line."""

    def writing_resumed(self) -> None:
        """Nothing."""

    def ended(self, error: Exception | None) -> None:
        """Ignore it: the count shows an early end."""
        del error
        self.all.set()


async def measure(way: Way, count: int) -> float:
    """Microseconds a line from the first to the last, each in a separate write."""
    calls = OpenToolCalls()

    def announces(line: bytes | OversizedLine, called_at: float | None = None) -> bool:
        del called_at
        return not isinstance(line, OversizedLine) and calls.received(line) is not None

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
    announces: Callable[[bytes | OversizedLine], bool],
) -> Transport:
    if way != "heard only":
        return stop.listen(agent)

    def seen(direction: Literal["received", "sent"], line: bytes | OversizedLine) -> None:
        if direction == "received":
            announces(line)

    return TappedTransport(agent, seen)


@contextmanager
def placed(place: Place) -> Generator[None]:
    """Run this process and its children on one processor, or without a restriction."""
    allowed = os.sched_getaffinity(0)
    if place == "one processor":
        os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def round_trip(count: int) -> float:
    """Microseconds of a byte's round trip to another process through two pipes."""
    words = (sys.executable, "-ISc", ECHO, str(count))
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        there, back = other.stdin.fileno(), other.stdout.fileno()
        os.read(back, 1)
        begun = time.perf_counter()
        for _ in range(count):
            os.write(there, b"x")
            os.read(back, 1)
        return 1e6 * (time.perf_counter() - begun) / count


def processor_time() -> float:
    """Processor time of this process and its ended children in microseconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return 1e6 * sum(each.ru_utime + each.ru_stime for each in used)


def main() -> int:
    """Measure alternately, print, and check the targets."""
    parser = argparse.ArgumentParser(prog="python -m bench.stop_on_write", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter repetitions")
    parser.add_argument("--reps", type=int, help="repetitions (9, quick 3)")
    parser.add_argument("--lines", type=int, help="lines of each (20000, quick 5000)")
    options, _ = parser.parse_known_args()
    reps = options.reps or (3 if options.quick else 9)
    count = options.lines or (5000 if options.quick else 20_000)
    found: dict[Place, dict[str, list[float]]] = {place: {} for place in PLACES}
    used: dict[Place, dict[str, list[float]]] = {place: {} for place in PLACES}
    for _ in range(reps):
        for place in PLACES:
            with placed(place):
                found[place].setdefault(ROUND_TRIP, []).append(round_trip(count))
                for way in WAYS:
                    before = processor_time()
                    figure = asyncio.run(measure(way, count))
                    found[place].setdefault(way, []).append(figure)
                    spent = (processor_time() - before) / count
                    used[place].setdefault(way, []).append(spent)
    say(f"stop in an agent's writes: {reps} repetitions of {count} lines, microseconds a line")
    for place, figures in found.items():
        say(f"  {place}")
        for name, each in figures.items():
            line = f"    {name:24}   median {median(each):6.2f}   least {min(each):6.2f}"
            spent = used[place].get(name, ())
            say(f"{line}   processor time {min(spent):6.2f}" if spent else line)
    for line in verdicts(found):
        say(line)
    if (load := os.getloadavg()[0]) > (os.cpu_count() or 1):
        say(f"  The machine was busy (load {load:.1f}): repeat this on a quiet one.")
    return 0


def verdicts(found: Mapping[Place, Mapping[str, Sequence[float]]]) -> list[str]:
    """Verdicts on the targets, one line each."""
    limits: dict[Way, float] = {"stopped": LIMIT, "asks": NOISE}
    lines: list[str] = []
    for way, limit in limits.items():
        cost = _cost(found["one processor"], way)
        verdict = "met" if cost <= limit else "MISSED"
        lines.append(f"  {way}, one processor: costs {cost:.2f}; at most {limit:g}: {verdict}")
    cost, base = _cost(found["free"], "stopped"), min(found["free"][ROUND_TRIP])
    # The scheduler may keep both on one processor, where a round trip costs less than a stop.
    verdict = "met" if cost <= max(LIMIT, FREE_LIMIT * base) else "MISSED"
    figure = f"{cost:.2f}, {cost / base:.2f} of a byte there and back"
    limits_text = f"{FREE_LIMIT:g} of it, or {LIMIT:g}"
    return [*lines, f"  stopped, free: costs {figure}; at most {limits_text}: {verdict}"]


def _cost(figures: Mapping[str, Sequence[float]], way: Way) -> float:
    # Of the minimum: other load adds to some repetitions and shortens none.
    return min(figures[way]) - min(figures["heard only"])


def say(line: str) -> None:
    print(line)


if __name__ == "__main__":
    sys.exit(main())

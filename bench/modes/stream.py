"""A stream of updates: rate, latency, order, and cost."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from bench.editor import TIMEOUT, Editor
from bench.figures import percentile
from bench.probe import Probe

STAMP: Final = re.compile(rb"@(\d+)\.(\d+)@")
STOP: Final = b'"stopReason"'

LATE: Final = 2.0
"""Seconds to wait for updates after a reply that came too early."""

WARM_UP: Final = 500
"""Updates before the measured ones."""

PACE: Final = 1000
"""Updates a second in the paced stream."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Received bytes with their times.

    Attributes:
        begun: monotonic time of the prompt in nanoseconds.
        chunks: time and bytes of each read.
    """

    begun: int
    chunks: list[tuple[int, bytes]]


def flat_out(editor: Editor, count: int) -> dict[str, float]:
    """Full speed: messages a second, latency under load, cost, order, and loss."""
    measured(editor, WARM_UP, rate=0)
    probe = Probe(editor)
    values = measured(editor, count, rate=0)
    return {
        "rate": values.pop("rate"),
        "flood_p50": values.pop("p50"),
        "flood_p99": values.pop("p99"),
        **values,
        **probe.costs(count),
    }


def paced(editor: Editor, count: int) -> dict[str, float]:
    """1,000 a second: latency of single updates without load."""
    values = measured(editor, count, rate=PACE)
    return {"paced_p50": values["p50"], "paced_p99": values["p99"]}


def measured(editor: Editor, count: int, *, rate: int) -> dict[str, float]:
    """Figures of one prompt with a stream of updates."""
    return figures(arrivals(editor, count, rate=rate), count)


def arrivals(editor: Editor, count: int, *, rate: int) -> Arrivals:
    """Read until the updates and the reply have arrived, or no more come.

    Raises:
        ChainEndedError: the chain exited before the reply.
        TimeoutError: no output in time before the reply.
    """
    chunks: list[tuple[int, bytes]] = []
    begun = time.monotonic_ns()
    editor.begin_prompt({"load": "stream", "count": count, "size": 80, "rate": rate})
    lines, replied, tail = 0, False, b""
    while lines <= count or not replied:
        try:
            chunk = editor.read(LATE if replied else TIMEOUT)
        except TimeoutError:
            if replied:
                break
            raise
        chunks.append((time.monotonic_ns(), chunk))
        lines += chunk.count(b"\n")
        replied = replied or STOP in tail + chunk
        tail = chunk[-len(STOP) :]
    return Arrivals(begun, chunks)


def figures(found: Arrivals, count: int) -> dict[str, float]:
    """Rate over the whole stream; latency from each stamp to the read that completed its line.

    The reply is early by the number of updates after it; an update is misordered if its number is
    not the next one.
    """
    latencies: list[int] = []
    numbers: list[int] = []
    early, replied, last = 0, False, found.begun
    for at, lines in _completed(found.chunks):
        stamps = list(STAMP.finditer(lines))
        numbers += [int(stamp[1]) for stamp in stamps]
        latencies += [at - int(stamp[2]) for stamp in stamps]
        last = at if stamps else last
        reply = lines.find(STOP)
        early += sum(replied or 0 <= reply < stamp.start() for stamp in stamps)
        replied = replied or reply >= 0
    return {
        "rate": len(numbers) / ((last - found.begun) / 1e9),
        "p50": percentile(latencies, 0.5) / 1e3,
        "p99": percentile(latencies, 0.99) / 1e3,
        "lost": count - len(set(numbers)),
        "misordered": sum(then != now + 1 for now, then in pairwise(numbers)),
        "early": early,
    }


def _completed(chunks: list[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Lines completed by each read, with its time."""
    rest = b""
    for at, chunk in chunks:
        lines, newline, rest = (rest + chunk).rpartition(b"\n")
        if newline:
            yield at, lines

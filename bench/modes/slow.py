"""A client that takes 100 updates of 2 KB a second from an agent that floods: the chain's memory.

Ten minutes are simulated: the client takes as many updates as it would in ten minutes, `hurry`
times as fast. What makes a queue grow is that the agent is faster than the client, and it stays so
by a factor of ten and more.
"""

import time
from dataclasses import dataclass
from typing import Final

from bench.editor import PATIENCE, PIPE, Editor
from bench.probe import chain_pids
from bench.processes import memory

TAKEN: Final = 100
"""Updates that the client takes in a second."""

SIZE: Final = 2000
"""Bytes of text in each."""

SETTLED: Final = 1.0
"""Seconds after which the chain has filled what it may fill; growth counts from there."""

LOOK: Final = 0.25
"""Seconds between two looks at the memory."""

READS: Final = 1000
"""Reads that the client makes in a second at the most; more would themselves be what is slow."""

ENDLESS: Final = 100_000_000
"""More updates than any run takes."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How slow the client is.

    Attributes:
        seconds: of the client's time.
        hurry: how many of them pass in one real second.
    """

    seconds: float
    hurry: float = 1.0


SHORT: Final = Pace(seconds=6)
"""Long enough to tell a bound from none."""

TEN_MINUTES: Final = Pace(seconds=600, hurry=60)
"""60,000 updates, 120 MB, in ten real seconds."""


def slow_client(editor: Editor, pace: Pace) -> dict[str, float]:
    """MB that the chain grew by after the first second, and how many updates were taken."""
    order = {"load": "stream", "count": ENDLESS, "size": SIZE, "rate": 0}
    editor.begin_prompt(order)
    begun = time.monotonic()
    wanted, taken, look = int(pace.seconds * TAKEN), 0, SETTLED
    portion = min(PIPE, int(SIZE * max(1, pace.hurry * TAKEN / READS)))
    sizes: list[float] = []
    while taken < wanted:
        taken += editor.read(PATIENCE, most=portion).count(b"\n")
        passed = time.monotonic() - begun
        if passed >= look:
            sizes.append(sum(memory(pid).now for pid in chain_pids(editor)))
            look = passed + LOOK
        time.sleep(max(0.0, taken / (TAKEN * pace.hurry) - passed))
    return {"slow_growth": growth(sizes), "slow_taken": taken}


def growth(sizes: list[float]) -> float:
    """How far memory rose above what it was first; 0 where there was one look or none."""
    return max(sizes) - sizes[0] if sizes else 0.0

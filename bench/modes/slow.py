"""Memory of a chain whose client reads 100 updates of 2 KB a second from a flooding agent.

Ten minutes are simulated: the client reads as many updates as in ten minutes, `hurry`
times as fast. A queue grows because the agent is faster than the client, and it stays faster by a
factor of ten or more.
"""

import time
from dataclasses import dataclass
from typing import Final

from bench.editor import PIPE, TIMEOUT, Editor
from bench.probe import chain_pids
from bench.processes import memory

TAKEN: Final = 100
"""Updates that the client reads in a second."""

SIZE: Final = 2000
"""Bytes of text in each update."""

SETTLED: Final = 1.0
"""Seconds until the buffers of the chain are full; growth counts from there."""

LOOK: Final = 0.25
"""Seconds between two samples of the memory."""

READS: Final = 1000
"""Maximum reads a second; more would limit the speed themselves."""

ENDLESS: Final = 100_000_000
"""More updates than any run reads."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Speed of the client.

    Attributes:
        seconds: simulated time of the client.
        hurry: simulated seconds in one real second.
    """

    seconds: float
    hurry: float = 1.0


SHORT: Final = Pace(seconds=6)
"""Long enough to detect a missing limit."""

TEN_MINUTES: Final = Pace(seconds=600, hurry=60)
"""60,000 updates, 120 MB, in ten real seconds."""


def slow_client(editor: Editor, pace: Pace) -> dict[str, float]:
    """Growth of the chain in MB after the first second, and the number of updates read."""
    order = {"load": "stream", "count": ENDLESS, "size": SIZE, "rate": 0}
    editor.begin_prompt(order)
    begun = time.monotonic()
    wanted, taken, look = int(pace.seconds * TAKEN), 0, SETTLED
    portion = min(PIPE, int(SIZE * max(1, pace.hurry * TAKEN / READS)))
    sizes: list[float] = []
    while taken < wanted:
        taken += editor.read(TIMEOUT, most=portion).count(b"\n")
        passed = time.monotonic() - begun
        if passed >= look:
            sizes.append(sum(memory(pid).now for pid in chain_pids(editor)))
            look = passed + LOOK
        time.sleep(max(0.0, taken / (TAKEN * pace.hurry) - passed))
    return {"slow_growth": growth(sizes), "slow_taken": taken}


def growth(sizes: list[float]) -> float:
    """Rise of the memory above its first sample; 0 for fewer than two samples."""
    return max(sizes) - sizes[0] if sizes else 0.0

"""Descendants, processor time, and memory of processes from Linux's /proc."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_TICK: Final = os.sysconf("SC_CLK_TCK")
_IDLE: Final = slice(3, 5)
"""Fields of /proc/stat for idle time and waiting for a disk."""


def tree(pid: int) -> Iterator[int]:
    """A process and its running descendants."""
    yield pid
    with suppress(OSError):
        for task in (_PROC / str(pid) / "task").iterdir():
            for child in (task / "children").read_text().split():
                yield from tree(int(child))


def processor_seconds(pid: int) -> float:
    """Time of the running threads by the scheduler's clock; 0 for an exited process."""
    seconds = 0.0
    with suppress(OSError):
        for task in (_PROC / str(pid) / "task").iterdir():
            seconds += int((task / "schedstat").read_text().split()[0]) / 1e9
    return seconds


def machine_seconds() -> float:
    """Processor time of the whole machine since its start."""
    with suppress(OSError):
        fields = [int(field) for field in (_PROC / "stat").read_text().split("\n")[0].split()[1:9]]
        return (sum(fields) - sum(fields[_IDLE])) / _TICK
    return 0.0


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident memory of one process in MB: current and peak."""

    now: float
    highest: float


def memory(pid: int) -> Memory:
    """Memory of a process; zero if it has exited."""
    sizes = {"VmRSS": 0.0, "VmHWM": 0.0}
    with suppress(OSError):
        for line in (_PROC / str(pid) / "status").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name in sizes:
                sizes[name] = int(rest.split()[0]) / 1024
    return Memory(now=sizes["VmRSS"], highest=sizes["VmHWM"])

"""What Linux's /proc tells of processes: descent, processor time, memory; nothing elsewhere."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_TICK: Final = os.sysconf("SC_CLK_TCK")
_IDLE: Final = slice(3, 5)
"""Idle and waiting for a disk, among the fields of /proc/stat."""


def tree(pid: int) -> Iterator[int]:
    """A process and all that descend from it and live."""
    yield pid
    with suppress(OSError):
        for task in (_PROC / str(pid) / "task").iterdir():
            for child in (task / "children").read_text().split():
                yield from tree(int(child))


def processor_seconds(pid: int) -> float:
    """Time of the living threads by the scheduler's clock; 0 for a process that has gone."""
    seconds = 0.0
    with suppress(OSError):
        for task in (_PROC / str(pid) / "task").iterdir():
            seconds += int((task / "schedstat").read_text().split()[0]) / 1e9
    return seconds


def machine_seconds() -> float:
    """Processor time that the whole machine has spent since it started."""
    with suppress(OSError):
        fields = [int(field) for field in (_PROC / "stat").read_text().split("\n")[0].split()[1:9]]
        return (sum(fields) - sum(fields[_IDLE])) / _TICK
    return 0.0


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident memory of one process in MB: now, and at its highest."""

    now: float
    highest: float


def memory(pid: int) -> Memory:
    """Zero for a process that has gone."""
    sizes = {"VmRSS": 0.0, "VmHWM": 0.0}
    with suppress(OSError):
        for line in (_PROC / str(pid) / "status").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name in sizes:
                sizes[name] = int(rest.split()[0]) / 1024
    return Memory(now=sizes["VmRSS"], highest=sizes["VmHWM"])

"""Process groups that a program's pipe stops; the stop itself is tested with real programs."""

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from peerwire.jsonrpc.transport import OversizedLine
from peerwire.transports.stop_on_write import StopOnWrite

GROUPS = (4_194_305, 4_194_306, 4_194_307)
"""Above the largest process id of Linux."""


def continues(lines: Sequence[bytes | OversizedLine]) -> bool:
    del lines
    return False


def descriptors_of(pipe: str) -> set[int]:
    """Descriptors of this process for a pipe."""
    here = Path("/proc/self/fd")
    return {int(each.name) for each in here.iterdir() if is_at(each, pipe)}


def is_at(descriptor: Path, pipe: str) -> bool:
    try:
        return str(descriptor.readlink()) == pipe
    except FileNotFoundError:
        return False  # the one that lists the directory


@pytest.mark.requirement("snapshots.stopped-in-write")
async def test_pipe_is_opened_once_for_each_further_group_and_closed_with_it() -> None:
    reading, writing = os.pipe()
    stop = StopOnWrite(reading, GROUPS[0], continues)
    before = descriptors_of(stop.pipe)

    stop.also(GROUPS)
    opened = descriptors_of(stop.pipe) - before
    stop.also(GROUPS[:2])
    kept = descriptors_of(stop.pipe) - before
    flags = [fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ASYNC for fd in opened & kept]
    stop.close()

    assert (len(opened), len(kept), descriptors_of(stop.pipe)) == (2, 1, before)
    assert flags == [0], "a program that is not armed is not stopped"
    os.close(reading)
    os.close(writing)

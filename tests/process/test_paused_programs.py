"""Paused programs always continue, even when Symposium is killed."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.support.task_cli import until

from symposium.sessions import pause
from symposium.sessions.pause import ProcessPauser

PARENT: Final = "sleep 60 & setsid sleep 60 & echo $!; wait"
"""Program with two children, one of them in a separate group."""

PAUSER: Final = """
import asyncio, sys
from symposium.sessions.pause import ProcessPauser
async def hold():
    async with ProcessPauser(print) as halting:
        halting.pause(int(sys.argv[1]))
        print("stands", flush=True)
        await asyncio.sleep(60)
asyncio.run(hold())
"""


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.fixture
def family() -> Iterator[tuple[int, int]]:
    """Start a program that starts another one in a separate group."""
    with subprocess.Popen(
        ["/bin/sh", "-c", PARENT], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as program:
        assert program.stdout is not None
        child = int(program.stdout.readline())
        # `setsid` must first become the program, in its own group.
        until(lambda: os.getpgid(child) == child)
        yield program.pid, child
        for group in (child, program.pid):
            os.killpg(group, signal.SIGKILL)


@pytest.mark.requirement("snapshots.stands-still")
async def test_program_and_its_children_stay_paused_until_they_are_resumed(
    family: tuple[int, int],
) -> None:
    program, child = family
    late: list[str] = []
    async with ProcessPauser(lambda: late.append("late")) as halt:
        halt.pause(program)
        halt.pause(program)
        stands = until(lambda: (state(program), state(child)) == ("T", "T"))
        halt.resume()
        goes = until(lambda: (state(program), state(child)) == ("S", "S"))

    assert (stands, goes, late) == (True, True, [])


@pytest.mark.requirement("snapshots.stands-still")
async def test_program_continues_after_the_timeout(
    family: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pause, "HOLD", 0.1)
    late = asyncio.Event()
    async with ProcessPauser(late.set) as halt:
        halt.pause(family[0])
        async with asyncio.timeout(45):
            await late.wait()

        assert until(lambda: [state(pid) for pid in family] == ["S", "S"])


@pytest.mark.requirement("snapshots.stands-still")
async def test_program_continues_when_its_pause_is_abandoned(family: tuple[int, int]) -> None:
    async with ProcessPauser(lambda: None) as halt:
        halt.pause(family[0])

    assert until(lambda: [state(pid) for pid in family] == ["S", "S"])


@pytest.mark.requirement("snapshots.stands-still")
def test_program_continues_when_the_pausing_process_is_killed(family: tuple[int, int]) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PAUSER, str(family[0])], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "stands\n"
        stood = until(lambda: [state(pid) for pid in family] == ["T", "T"])
        server.kill()

    assert stood
    assert until(lambda: [state(pid) for pid in family] == ["S", "S"])

"""Programs are stopped with their process group, even if another holds their pipes."""

import asyncio
import os
import signal
from contextlib import suppress

import pytest

from localio import processes
from localio.processes import end_process


@pytest.mark.requirement("reviews.diff-bounds")
async def test_program_with_unread_output_is_killed() -> None:
    process = await asyncio.create_subprocess_exec(
        *("yes", "x" * 100), stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    # It writes until its pipe is full, and does not exit by itself.
    with suppress(TimeoutError):
        async with asyncio.timeout(0.2):
            await process.wait()
    async with asyncio.timeout(45):
        await end_process(process)

    assert process.returncode == -9


HOLDS_ITS_PIPES = "setsid sh -c 'echo $$ >&$0; exec sleep 60' $0"
"""It prints its pid once it has left the group: before that, it would be killed with it."""


@pytest.mark.requirement("reviews.diff-bounds")
@pytest.mark.parametrize("stream", ["1", "2"])
async def test_end_does_not_wait_for_a_pipe_held_by_another_process(
    stream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_EXIT_TIMEOUT", 0.2)
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", f"{HOLDS_ITS_PIPES} & exec yes >&{stream}", stream),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    heard = process.stdout if stream == "1" else process.stderr
    while (line := await heard.readline()) == b"y\n":
        pass
    other = int(line)
    try:
        async with asyncio.timeout(45):
            await end_process(process)
    finally:
        os.kill(other, signal.SIGKILL)
        for pipe in (process.stdout, process.stderr):
            # Reading to the end closes this side too, before the next test.
            await pipe.read()

    assert process.returncode == -9

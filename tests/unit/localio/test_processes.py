"""Programs are stopped with their process group, even if another holds their pipes."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.processes import has_exited

from localio import processes
from localio.processes import ProcessSpec, ToolError, end_process, run_collecting, run_tool


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
    output = process.stdout if stream == "1" else process.stderr
    while (line := await output.readline()) == b"y\n":
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


def shell(script: str) -> ProcessSpec:
    return ProcessSpec(("sh", "-c", script), os.environ)


@pytest.mark.requirement("process.collected")
async def test_all_that_a_program_prints_is_collected_with_its_exit_code() -> None:
    found = await run_collecting(shell("printf one; sleep 0.1; printf two; exit 3"), seconds=45)

    assert (found.said, found.code) == (b"onetwo", 3)


@pytest.mark.requirement("process.collected")
async def test_a_program_is_stopped_once_it_has_printed_enough() -> None:
    script = "echo enough; sleep 60 & echo $!; wait"

    async with asyncio.timeout(45):
        found = await run_collecting(
            shell(script), seconds=60, is_enough=lambda said: said.count(b"\n") == 2
        )

    assert has_exited(int(found.said.split()[1]))


@pytest.mark.requirement("process.collected")
async def test_a_program_that_takes_too_long_is_stopped_with_its_group(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    with pytest.raises(TimeoutError):
        await run_collecting(shell(f"sleep 60 & echo $! > {pid}; wait"), seconds=2)

    assert has_exited(int(pid.read_text()))


@pytest.mark.requirement("process.collected")
async def test_a_program_that_has_exited_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "KILL_TIMEOUT", 600)
    async with asyncio.timeout(45):
        assert (await run_collecting(shell("echo a"), seconds=45)).said == b"a\n"


@pytest.mark.requirement("process.tool")
async def test_what_a_tool_prints_on_both_streams_is_returned(tmp_path: Path) -> None:
    script = "echo one; echo two >&2; pwd; printf '\\033[1mbold\\033[0m'"

    text = await run_tool(["sh", "-c", script], cwd=tmp_path)

    assert text == f"one\ntwo\n{tmp_path}\n␛[1mbold␛[0m"


@pytest.mark.requirement("process.tool")
async def test_a_tool_that_fails_is_reported_with_its_last_lines(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as caught:
        await run_tool(["sh", "-c", "seq 20 >&2; exit 3"], cwd=tmp_path)

    assert caught.value.message == "`sh -c seq 20 >&2; exit 3 …` failed with exit code 3"
    lines = caught.value.hint.splitlines()[1:]
    assert lines == [f"| {number}" for number in range(13, 21)]


@pytest.mark.requirement("process.tool")
async def test_a_tool_that_is_missing_or_takes_too_long_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="no-such-tool did not start: No such file"):
        await run_tool(["no-such-tool"], cwd=tmp_path)
    with pytest.raises(ToolError, match=r"sleep timed out after 0\.1 s"):
        await run_tool(["sleep", "60"], cwd=tmp_path, seconds=0.1)


@pytest.mark.requirement("process.tool")
async def test_a_tool_is_found_where_installers_put_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / ".local" / "bin" / "own-tool"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\necho found\n")
    tool.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")

    assert await run_tool(["own-tool"], cwd=tmp_path) == "found\n"


@pytest.mark.requirement("reviews.diff-bounds")
async def test_unread_output_of_an_exited_program_is_dropped() -> None:
    # More than its reader buffers, so the pipe stays open.
    process = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", "head -c 160000 /dev/zero"), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    await process.stdout.readexactly(1)
    while process.returncode is None:  # noqa: ASYNC110 - `wait` also waits for its pipe
        await asyncio.sleep(0)
    is_unread = not process.stdout.at_eof()

    await end_process(process)

    assert (is_unread, process.stdout.at_eof()) == (True, True)

"""Language servers as programs: messages, exit, and stopping."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.support.processes import has_exited

from peerwire.errors import ConnectionClosedError, SpawnError
from peerwire.jsonrpc.transport import OversizedLine
from peerwire.testing import Recorder
from symposium.code.lsp import framing
from symposium.code.lsp.framing import FramedProcess, FramingError, spawn_framed

WRITES = "import sys; sys.stdout.write('Content-Length: 2\\r\\n\\r\\n{}'); sys.stdout.flush(); "
ECHOES = WRITES + "sys.stdout.write(sys.stdin.read())"


class FrameRecorder:
    """Records what a transport delivers."""

    def __init__(self) -> None:
        self.lines: Recorder[bytes | OversizedLine] = Recorder()
        self.ends: Recorder[Exception | None] = Recorder()

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        for line in lines:
            self.lines.note(line)

    def writing_paused(self) -> None: ...

    def writing_resumed(self) -> None: ...

    def ended(self, error: Exception | None) -> None:
        self.ends.note(error)


async def started(code: str, cwd: Path) -> tuple[FramedProcess, FrameRecorder]:
    process, recorder = await spawn_framed((sys.executable, "-c", code), cwd), FrameRecorder()
    process.start(recorder)
    return process, recorder


@pytest.mark.requirement("ide.server-process")
async def test_messages_pass_both_ways_and_the_end_of_input_ends_a_server(tmp_path: Path) -> None:
    process, recorder = await started(ECHOES, tmp_path)
    process.send(b'{"id":1}')
    assert not process.has_exited

    async with asyncio.timeout(45):
        await process.aclose(grace=60)

    assert process.has_exited
    assert await recorder.lines.count(2) == [b"{}", b'{"id":1}']
    (error,) = await recorder.ends.count(1)
    assert isinstance(error, ConnectionClosedError)


@pytest.mark.requirement("ide.server-process")
async def test_what_a_server_writes_before_anyone_listens_is_delivered(tmp_path: Path) -> None:
    code = WRITES + "sys.stderr.write('no licence'); sys.exit(3)"
    process = await spawn_framed((sys.executable, "-c", code), tmp_path)
    async with asyncio.timeout(45):
        await process.aclose(grace=60)
    recorder = FrameRecorder()
    process.start(recorder)

    assert recorder.lines.items == [b"{}"]
    (error,) = await recorder.ends.count(1)
    assert str(error) == "exited with code 3: no licence"


@pytest.mark.requirement("ide.server-process", "ide.framing")
async def test_a_server_that_writes_no_frames_is_stopped(tmp_path: Path) -> None:
    code = "import time; print('x' * 5000 + '\\r\\n\\r\\n', flush=True); time.sleep(60)"
    process, recorder = await started(code, tmp_path)

    async with asyncio.timeout(45):
        (error,) = await recorder.ends.count(1)
    assert isinstance(error, FramingError)
    await process.aclose()


@pytest.mark.requirement("ide.no-server-left")
async def test_a_server_that_ignores_everything_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(framing, "TERM_GRACE", 0.2)
    code = (
        "import os, signal, subprocess, sys, time\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "text = str(child.pid)\n"
        "print(f'Content-Length: {len(text)}\\r\\n\\r\\n{text}', end='', flush=True)\n"
        "time.sleep(60)\n"
    )
    process, recorder = await started(code, tmp_path)
    (pid,) = await recorder.lines.count(1)
    assert isinstance(pid, bytes)

    async with asyncio.timeout(45):
        await process.aclose(grace=0.01)

    assert process.has_exited
    assert has_exited(int(pid))


@pytest.mark.requirement("ide.says-what-is-wrong")
async def test_a_server_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpawnError, match="could not start no-such-server: No such file"):
        await spawn_framed(("no-such-server",), tmp_path)

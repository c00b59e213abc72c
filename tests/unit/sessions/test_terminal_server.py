"""A terminal program in a session server in this process."""

import asyncio
import os
import signal
import sys
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.processes import has_exited

from peerwire.jsonrpc.handlers import Request
from symposium.sessions import terminal_server
from symposium.sessions.client import ATTACH, INPUT, RESIZE
from symposium.sessions.session import (
    AS_ASKED,
    TERMINAL_LOG,
    ServerSessionState,
    SessionKind,
    SessionSpec,
    Status,
)
from symposium.sessions.terminal_server import Scrollback, TerminalSessionServer


class Viewer:
    """A terminal that records the output."""

    def __init__(self) -> None:
        self.shown = b""
        self._came = asyncio.Event()

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        del method
        self.shown += b64decode(params["data"])
        self._came.set()

    async def until(self, text: bytes) -> None:
        while text not in self.shown:
            self._came.clear()
            await self._came.wait()


class RunningTerminal:
    """A shell that runs a script, with one viewer."""

    def __init__(self, folder: Path, script: str) -> None:
        spec = SessionSpec("s", SessionKind.TERMINAL, ("/bin/sh", "-c", script), str(folder))
        self.server = TerminalSessionServer(spec, folder)
        self.viewer = Viewer()
        self.ended: ServerSessionState | None = None

    def attach(self, **size: Any) -> bytes:
        found: Any = self.server.requests(self.viewer)[ATTACH](Request(ATTACH, size, b"1"))
        return b64decode(found["scrollback"])

    def notify(self, method: str, **params: Any) -> None:
        self.server.notifications(self.viewer)[method](params)

    def type(self, text: bytes) -> None:
        self.notify(INPUT, data=b64encode(text).decode())


@asynccontextmanager
async def run_terminal(folder: Path, script: str) -> AsyncGenerator[RunningTerminal]:
    made = RunningTerminal(folder, script)
    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(made.server.run(lambda _: None))
        yield made
        made.ended = await running


@pytest.mark.requirement("agent-sessions.outlive")
async def test_viewer_types_and_gets_output_until_it_leaves_and_the_end_is_saved(
    tmp_path: Path,
) -> None:
    script = 'echo first; read line; echo "typed $line"; read line; echo "last $line"; exit 3'
    async with run_terminal(tmp_path, script) as made:
        if b"first" not in made.attach(rows=10, columns=20):
            await made.viewer.until(b"first")
        made.type(b"one\n")
        made.notify(INPUT, data="no base64!")
        made.notify(INPUT)
        await made.viewer.until(b"typed one")
        described = made.server.describe()["viewers"]
        made.server.left(made.viewer)
        made.type(b"two\n")

    assert described == 1
    assert b"last two" not in made.viewer.shown
    assert b"last two" in (tmp_path / TERMINAL_LOG).read_bytes()
    assert made.ended is not None
    assert (made.ended.status, made.ended.exit_code) == (Status.EXITED, 3)
    assert made.ended.reason == "the program exited with code 3"


@pytest.mark.requirement("agent-sessions.outlive")
async def test_terminal_takes_the_size_of_the_viewer_within_limits(tmp_path: Path) -> None:
    script = "while read line; do stty size; done"
    sizes = [(7, 9), (5000, 6000), (1, 1), (30, 40)]
    async with run_terminal(tmp_path, f"stty -echo; stty size; {script}") as made:
        if b"24 80" not in made.attach():
            await made.viewer.until(b"24 80")
        for rows, columns in sizes:
            made.notify(RESIZE, rows=rows, columns=columns)
            made.type(b"\n")
            await made.viewer.until(b"%d %d\r\n" % (min(rows, 1000), min(columns, 1000)))
        # Some terminals do not know their size.
        for rows, columns in ((0, 9), (9, 0), ("9", 9)):
            made.attach(rows=rows, columns=columns)
            made.viewer.shown = b""
            made.type(b"\n")
            await made.viewer.until(b"30 40\r\n")
        made.attach(rows=3, columns=4)
        made.type(b"\n")
        await made.viewer.until(b"3 4\r\n")
        made.type(b"\x04")


@pytest.mark.requirement("agent-sessions.stop-and-cancel")
async def test_program_that_is_stopped_is_hung_up_first(tmp_path: Path) -> None:
    script = "trap 'echo bye; exit 5' HUP; echo ready; while :; do sleep 0.01; done"
    async with run_terminal(tmp_path, script) as made:
        if b"ready" not in made.attach():
            await made.viewer.until(b"ready")
        made.server.stop()

    assert made.ended is not None
    assert (made.ended.exit_code, made.ended.reason) == (5, AS_ASKED)
    assert b"bye" in (tmp_path / TERMINAL_LOG).read_bytes()


@pytest.mark.requirement("agent-sessions.start-errors")
@pytest.mark.parametrize(
    ("command", "directory", "shown", "reason"),
    [
        (
            "no-such-program",
            ".",
            b"no-such-program: No such file or directory",
            "`no-such-program` is not installed, or not on the PATH of the session",
        ),
        (
            "/bin/sh",
            "gone",
            b"/bin/sh: No such file or directory",
            "the program exited with code 127",
        ),
    ],
)
async def test_program_that_does_not_start_says_why_on_its_terminal(
    tmp_path: Path, command: str, directory: str, shown: bytes, reason: str
) -> None:
    spec = SessionSpec("s", SessionKind.TERMINAL, (command,), str(tmp_path / directory))
    async with asyncio.timeout(45):
        ended = await TerminalSessionServer(spec, tmp_path).run(lambda _: None)

    assert (ended.status, ended.exit_code, ended.reason) == (Status.EXITED, 127, reason)
    assert (tmp_path / TERMINAL_LOG).read_bytes().rstrip() == shown


@pytest.mark.requirement("agent-sessions.nothing-stays")
async def test_program_that_ignores_the_hangup_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal_server, "GRACE", 0.05)
    async with run_terminal(tmp_path, "trap '' HUP; echo ready; exec sleep 600") as made:
        if b"ready" not in made.attach():
            await made.viewer.until(b"ready")
        made.server.stop()
        made.server.stop()

    assert made.ended is not None
    assert made.ended.exit_code == -signal.SIGKILL
    assert made.ended.reason == AS_ASKED


@pytest.mark.requirement("agent-sessions.outlive")
async def test_terminal_without_a_program_on_it_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "go")
    ends: list[int] = []
    hung_up, read = asyncio.Event(), os.read

    def count(handle: int, size: int) -> bytes:
        try:
            return read(handle, size)
        except BlockingIOError:
            raise
        except OSError:
            ends.append(handle)
            hung_up.set()
            raise

    monkeypatch.setattr(os, "read", count)
    script = f"echo shown; exec <&- >&- 2>&-; read line <{tmp_path}/go; exit 4"
    async with run_terminal(tmp_path, script) as made:
        await hung_up.wait()
        for _ in range(5):
            await asyncio.sleep(0)
        before = len(ends)
        (tmp_path / "go").write_text("on\n", encoding="utf-8")

    assert before == 1
    assert made.ended is not None
    assert made.ended.exit_code == 4
    assert (tmp_path / TERMINAL_LOG).read_bytes() == b"shown\r\n"


@pytest.mark.requirement("agent-sessions.outlive")
def test_scrollback_has_whole_lines_up_to_its_limit_and_keeps_nothing_older() -> None:
    kept = Scrollback(10)
    oldest = bytes(range(65, 75))
    references = sys.getrefcount(oldest)
    kept.add(oldest)
    assert kept.end() == b"ABCDEFGHIJ"
    kept.add(b"K\nLMN")
    assert kept.end() == b"LMN"
    kept.add(b"OPQRSTUVW")

    assert sys.getrefcount(oldest) == references


@pytest.mark.requirement("agent-sessions.outlive")
async def test_saved_output_has_no_secrets_of_the_session_or_of_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INHERITED_TOKEN", "orange marmalade")
    script = 'echo "$OWN_TOKEN, $INHERITED_TOKEN, $PLAIN"'
    own = {"OWN_TOKEN": "purple elephants", "PLAIN": "shown as is"}
    command = ("/bin/sh", "-c", script)
    spec = SessionSpec("s", SessionKind.TERMINAL, command, str(tmp_path), env=own)
    async with asyncio.timeout(45):
        await TerminalSessionServer(spec, tmp_path).run(lambda _: None)

    saved = (tmp_path / TERMINAL_LOG).read_bytes().rstrip()
    assert saved == b"[redacted], [redacted], shown as is"


@pytest.mark.requirement("agent-sessions.nothing-stays")
async def test_process_in_the_background_is_killed_with_its_program(tmp_path: Path) -> None:
    script = "trap '' HUP; sleep 600 & echo $!"
    async with run_terminal(tmp_path, script):
        pass
    pid = int((tmp_path / TERMINAL_LOG).read_bytes())

    assert has_exited(pid)

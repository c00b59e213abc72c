"""The kernel stops a program in its own write() until the line it wrote has been checked."""

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import pytest
from tests.support.task_desk import until

from peerwire.jsonrpc.transport import Overlong
from peerwire.transports.command import Command
from peerwire.transports.process import ProcessTransport, spawn
from peerwire.transports.stop_on_write import StopOnWrite
from symposium.keepers.agent_stop import AgentStop

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="Linux alone signals a process group"
)

ROUNDS: Final = 200

ANNOUNCES: Final = """
import os, sys
for number in range(int(sys.argv[1])):
    os.write(1, b"tool %d\\n" % number)
    os.close(os.open(f"{sys.argv[2]}/{number}", os.O_CREAT))
"""
"""Makes a file as soon as it has announced it."""

ASKS: Final = """
import json, os
def write(method, params, **more):
    message = {"jsonrpc": "2.0", "method": method, "params": params, **more}
    os.write(1, json.dumps(message).encode() + b"\\n")
def call(id_):
    update = {"sessionUpdate": "tool_call", "toolCallId": id_, "kind": "edit", "status": "pending"}
    write("session/update", {"sessionId": "one", "update": update})
call("1")
write("session/request_permission", {"toolCall": {"toolCallId": "1"}, "options": []}, id=1)
call("2")
"""
"""Announces a tool call, asks for it, and announces another."""

KEEPER: Final = """
import asyncio, sys
from peerwire.transports.command import Command
from peerwire.transports.process import spawn
from symposium.keepers.halting import Halting
async def main():
    async with Halting(print) as halting:
        transport = spawn(Command(tuple(sys.argv[1:])))
        def check(lines):
            print(transport.pid, flush=True)
            return True
        halting.watch((transport.pid,))
        assert transport.stop_on_write(check).arm()
        class Listener:
            def lines_received(self, lines): pass
        transport.start(Listener())
        await asyncio.sleep(600)
asyncio.run(main())
"""
"""Holds a program at its first line for ever, as a session server that hangs would."""


class Output:
    """The lines of a program, and its end."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.over = asyncio.Event()
        self._more = asyncio.Event()

    async def count(self, number: int) -> None:
        """Wait for so many lines."""
        async with asyncio.timeout(60):
            while len(self.lines) < number:
                await self._more.wait()
                self._more.clear()

    def lines_received(self, lines: Sequence[bytes | Overlong]) -> None:
        self.lines += [line for line in lines if isinstance(line, bytes)]
        self._more.set()

    def writing_paused(self) -> None:
        pass

    def writing_resumed(self) -> None:
        pass

    def ended(self, error: Exception | None) -> None:
        del error
        self.over.set()


class Held:
    """Holds a program at each line that starts with `tool`, and is waited for."""

    def __init__(self) -> None:
        self.line = b""
        self.reached = asyncio.Event()

    def check(self, lines: Sequence[bytes | Overlong]) -> bool:
        for line in lines:
            if isinstance(line, bytes) and line.startswith(b"tool"):
                self.line = line
                self.reached.set()
                return True
        return False

    async def next(self) -> bytes:
        async with asyncio.timeout(45):
            await self.reached.wait()
        self.reached.clear()
        return self.line


def nothing(lines: Sequence[bytes | Overlong]) -> bool:
    """Hold nothing."""
    del lines
    return False


@asynccontextmanager
async def running(
    words: Sequence[str], check: Callable[[Sequence[bytes | Overlong]], bool]
) -> AsyncGenerator[tuple[ProcessTransport, StopOnWrite, Output]]:
    transport = spawn(Command(tuple(words)))
    stop = transport.stop_on_write(check)
    assert stop.arm()
    output = Output()
    transport.start(output)
    try:
        yield transport, stop, output
    finally:
        await transport.stop(eof_grace=0, term_grace=0)


def python(code: str, *words: str) -> list[str]:
    return [sys.executable, "-ISc", code, *words]


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def count(directory: Path) -> int:
    return len(list(directory.iterdir()))


@pytest.mark.requirement("snapshots.stopped-in-write")
@pytest.mark.parametrize("wrapper", [[], ["sh", "-c", '"$@"; true', "sh"]])
async def test_a_program_does_nothing_after_a_line_that_is_held_until_it_is_resumed(
    wrapper: list[str], tmp_path: Path
) -> None:
    held = Held()
    words = [*wrapper, *python(ANNOUNCES, str(ROUNDS), str(tmp_path))]
    async with running(words, held.check) as (_, stop, output):
        for number in range(ROUNDS):
            assert await held.next() == b"tool %d" % number
            # Another program would have had the time for it.
            os.sched_yield()
            assert not (tmp_path / str(number)).exists()
            stop.resume()
        async with asyncio.timeout(45):
            await output.over.wait()

    assert count(tmp_path) == ROUNDS


@pytest.mark.requirement("snapshots.stopped-in-write")
async def test_a_program_stays_stopped_until_a_line_of_several_reads_was_checked(
    tmp_path: Path,
) -> None:
    held = Held()
    code = ANNOUNCES.replace(
        'b"tool %d\\n" % number', 'b"tool %d" % number + b"." * 900_000 + b"\\n"'
    )
    rounds = 20
    async with running(python(code, str(rounds), str(tmp_path)), held.check) as (_, stop, output):
        for number in range(rounds):
            assert (await held.next()).rstrip(b".") == b"tool %d" % number
            os.sched_yield()
            assert not (tmp_path / str(number)).exists()
            stop.resume()
        async with asyncio.timeout(45):
            await output.over.wait()

    assert count(tmp_path) == rounds


@pytest.mark.requirement("snapshots.stopped-in-write")
async def test_a_program_that_writes_from_a_group_of_its_own_is_stopped_once_it_is_added(
    tmp_path: Path,
) -> None:
    held = Held()
    code = f"""
import os, sys
if os.fork():
    os.wait()
else:
    os.setsid()
    os.write(1, b"%d\\n" % os.getpid())
    sys.stdin.readline()
    {ANNOUNCES.strip().replace(chr(10), chr(10) + "    ")}
"""
    words = python(code, str(ROUNDS), str(tmp_path))
    async with running(words, held.check) as (transport, stop, output):
        await output.count(1)
        stop.also({int(output.lines[0])})
        transport.send(b"go")
        for number in range(ROUNDS):
            assert await held.next() == b"tool %d" % number
            assert not (tmp_path / str(number)).exists()
            stop.resume()


@pytest.mark.requirement("snapshots.stopped-in-write")
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("for n in range(3000): os.write(1, b'line\\n')", [b"line"] * 3000),
        ("for n in range(3000): os.write(1, b'li'); os.write(1, b'ne\\n')", [b"line"] * 3000),
        ("for n in range(3): sys.stdout.write('x' * 3_000_000 + '\\n')", [b"x" * 3_000_000] * 3),
        ("for n in range(3): os.write(1, b'x' * 900_000 + b'\\n')", [b"x" * 900_000] * 3),
        ("os.write(1, b'line\\n'); os.close(1); sys.stdin.read()", [b"line"]),
    ],
    ids=["lines", "pieces", "huge lines", "large lines in one call", "output closed"],
)
async def test_all_lines_that_are_not_held_arrive(code: str, expected: list[bytes]) -> None:
    async with running(python(f"import os, sys\n{code}"), nothing) as (transport, _, output):
        await output.count(len(expected))
        transport.close_writing()
        async with asyncio.timeout(60):
            await output.over.wait()

    assert output.lines == expected


@pytest.mark.requirement("snapshots.stopped-in-write")
@pytest.mark.parametrize("target", ["leader", "child"])
async def test_a_stop_that_arrives_after_its_line_was_read_is_undone(target: str) -> None:
    code = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
os.write(1, b"%d\\n" % child.pid)
sys.stdin.read()
"""
    async with running(python(code), nothing) as (transport, _, output):
        await output.count(1)
        pid = transport.pid if target == "leader" else int(output.lines[0])
        os.kill(pid, signal.SIGSTOP)
        # Before the loop runs again, so that nothing has continued it yet.
        until(lambda: state(pid) == "T")
        goes = await asyncio.to_thread(until, lambda: state(pid) == "S")

    assert goes


def do_not_stop(stop: StopOnWrite) -> None:
    """Have the kernel send no signal, though the program is armed."""
    for handle in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if str(handle.readlink()) == stop.pipe:
                fcntl.fcntl(int(handle.name), fcntl.F_SETFL, os.O_NONBLOCK)


@pytest.mark.requirement("snapshots.stopped-in-write")
async def test_a_held_program_that_is_not_stopped_yet_stays_held_after_disarming() -> None:
    held = Held()
    code = "import sys; sys.stdin.readline(); print('tool', flush=True); sys.stdin.read()"
    async with running(python(code), held.check) as (transport, stop, _):
        # As when the line is read before the signal comes.
        do_not_stop(stop)
        transport.send(b"go")
        await held.next()
        stop.disarm()
        stands = await asyncio.to_thread(until, lambda: state(transport.pid) == "T")
        stop.resume()

    assert stands


@pytest.mark.requirement("snapshots.stopped-in-write")
async def test_a_program_that_is_not_armed_is_not_stopped(tmp_path: Path) -> None:
    held = Held()
    async with running(python(ANNOUNCES, "3", str(tmp_path)), held.check) as (_, stop, output):
        assert await held.next() == b"tool 0"
        stop.disarm()
        stands = not (tmp_path / "0").exists()
        stop.resume()
        async with asyncio.timeout(45):
            await output.over.wait()

    assert stands
    assert count(tmp_path) == 3


@pytest.mark.requirement("snapshots.stopped-in-write")
async def test_a_held_program_is_continued_when_it_is_ended(tmp_path: Path) -> None:
    held = Held()
    code = f"""
import os, signal, sys
def bye(*_):
    os.close(os.open({str(tmp_path / "bye")!r}, os.O_CREAT))
    sys.exit()
signal.signal(signal.SIGTERM, bye)
os.write(1, b"tool\\n")
while True: signal.pause()
"""
    async with running(python(code), held.check) as (transport, _, _output):
        assert await held.next() == b"tool"
        await transport.stop(eof_grace=0.01, term_grace=30)

    assert (tmp_path / "bye").exists()


@pytest.mark.requirement("snapshots.time-of-call")
async def test_a_call_of_an_agent_that_asks_has_the_time_at_which_it_was_read() -> None:
    seen: list[float | None] = []

    def announces(line: bytes | Overlong, at: float | None) -> bool:
        del line
        seen.append(at)
        return False

    async with AgentStop(announces, lambda: None) as stop:
        transport = spawn(Command(tuple(python(ASKS))))
        output = Output()
        begun = time.time()
        stop.listen(transport).start(output)
        try:
            await output.count(3)
        finally:
            await transport.stop(eof_grace=0, term_grace=0)

    assert seen[:2] == [None, None]
    assert seen[2] is not None
    assert begun <= seen[2] <= time.time()


@pytest.mark.requirement("snapshots.stands-still")
def test_a_program_that_the_kernel_has_stopped_goes_on_when_its_session_server_is_killed() -> None:
    code = "import os, signal\nos.write(1, b'tool\\n')\nwhile True: signal.pause()"
    words = [sys.executable, "-c", KEEPER, *python(code)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as keeper:
        assert keeper.stdout is not None
        pid = int(keeper.stdout.readline())
        stood = until(lambda: state(pid) == "T")
        keeper.kill()
    goes = until(lambda: state(pid) == "S")
    os.killpg(pid, signal.SIGKILL)

    assert (stood, goes) == (True, True)

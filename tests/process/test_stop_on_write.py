"""The kernel stops a program in its own write() until the written line has been checked."""

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
from tests.support.task_cli import until

from peerwire.jsonrpc.transport import OversizedLine
from peerwire.transports.command import Command
from peerwire.transports.process import ProcessTransport, spawn
from peerwire.transports.stop_on_write import StopOnWrite
from symposium.sessions.agent_stop import AgentStop

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="Linux alone signals a process group"
)

ROUNDS: Final = 200

ANNOUNCES: Final = """
import os, sys
sys.stdin.readline()
for number in range(int(sys.argv[1])):
    os.write(1, b"tool %d\\n" % number)
    os.close(os.open(f"{sys.argv[2]}/{number}", os.O_CREAT))
"""
"""Announces a tool call and creates a file at once. It waits for a line, so that it is armed."""

CALLS: Final = """
import json, os, sys
def line(method, params, **more):
    message = {"jsonrpc": "2.0", "method": method, "params": params, **more}
    return json.dumps(message).encode() + b"\\n"
def call(id_):
    update = {"sessionUpdate": "tool_call", "toolCallId": id_, "kind": "edit", "status": "pending"}
    return line("session/update", {"sessionId": "one", "update": update})
def ask(id_, **more):
    params = {"toolCall": {"toolCallId": id_}, "options": [], **more}
    return line("session/request_permission", params, id=1)
def write(*lines):
    for each in lines:
        os.write(1, each)
def written():
    os.close(os.open(sys.argv[1], os.O_CREAT))
"""
"""Lines of an agent that announces tool calls and requests a permission."""

SET_MODE: Final = b'{"jsonrpc":"2.0","id":2,"method":"session/set_mode","params":{"modeId":"yolo"}}'

PAUSER: Final = """
import asyncio, sys
from peerwire.transports.command import Command
from peerwire.transports.process import spawn
from symposium.sessions.pause import ProcessPauser
async def main():
    async with ProcessPauser(print) as halting:
        transport = spawn(Command(tuple(sys.argv[1:])))
        def check(lines):
            print(transport.pid, flush=True)
            return True
        halting.watch((transport.pid,))
        assert transport.stop_on_write(check).arm()
        class Listener:
            def lines_received(self, lines): pass
        transport.start(Listener())
        transport.send(b"go")
        await asyncio.sleep(600)
asyncio.run(main())
"""
"""Holds a program at its first line without end, like a session server that hangs."""


class Output:
    """The lines of a program, and its end."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.over = asyncio.Event()
        self._more = asyncio.Event()

    async def count(self, number: int) -> None:
        """Wait for a number of lines."""
        async with asyncio.timeout(60):
            while len(self.lines) < number:
                await self._more.wait()
                self._more.clear()

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
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
    """Holds a program at each line that starts with `tool`, until the test resumes it."""

    def __init__(self) -> None:
        self.line = b""
        self.reached = asyncio.Event()

    def check(self, lines: Sequence[bytes | OversizedLine]) -> bool:
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


def nothing(lines: Sequence[bytes | OversizedLine]) -> bool:
    """Hold nothing."""
    del lines
    return False


@asynccontextmanager
async def running(
    words: Sequence[str], check: Callable[[Sequence[bytes | OversizedLine]], bool]
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


async def nothing_is_done_early(
    held: Held, stop: StopOnWrite, rounds: int, directory: Path
) -> None:
    """Resume after each line; before that, the program has not made its file."""
    for number in range(rounds):
        assert (await held.next()).rstrip(b".") == b"tool %d" % number
        # Time in which another program would have made it.
        os.sched_yield()
        assert not (directory / str(number)).exists()
        stop.resume()


def count(directory: Path) -> int:
    return len(list(directory.iterdir()))


@pytest.mark.requirement("snapshots.stopped-in-write")
@pytest.mark.parametrize("wrapper", [[], ["sh", "-c", '"$@"; true', "sh"]])
async def test_program_does_nothing_after_a_held_line_until_it_is_resumed(
    wrapper: list[str], tmp_path: Path
) -> None:
    held = Held()
    words = [*wrapper, *python(ANNOUNCES, str(ROUNDS), str(tmp_path))]
    async with running(words, held.check) as (transport, stop, output):
        transport.send(b"go")
        await nothing_is_done_early(held, stop, ROUNDS, tmp_path)
        async with asyncio.timeout(45):
            await output.over.wait()

    assert count(tmp_path) == ROUNDS


@pytest.mark.requirement("snapshots.stopped-in-write")
async def test_program_stays_stopped_until_a_line_of_several_reads_is_checked(
    tmp_path: Path,
) -> None:
    held = Held()
    code = ANNOUNCES.replace(
        'b"tool %d\\n" % number', 'b"tool %d" % number + b"." * 900_000 + b"\\n"'
    )
    rounds = 20
    words = python(code, str(rounds), str(tmp_path))
    async with running(words, held.check) as (transport, stop, output):
        transport.send(b"go")
        await nothing_is_done_early(held, stop, rounds, tmp_path)
        async with asyncio.timeout(45):
            await output.over.wait()

    assert count(tmp_path) == rounds


@pytest.mark.requirement("snapshots.stopped-in-write")
async def test_program_that_writes_from_another_group_is_stopped_once_it_is_added(
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
    {ANNOUNCES.strip().replace(chr(10), chr(10) + "    ")}
"""
    words = python(code, str(ROUNDS), str(tmp_path))
    async with running(words, held.check) as (transport, stop, output):
        await output.count(1)
        stop.also({int(output.lines[0])})
        transport.send(b"go")
        await nothing_is_done_early(held, stop, ROUNDS, tmp_path)


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
async def test_stop_that_arrives_after_its_line_was_read_is_undone(target: str) -> None:
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
        # Before the loop runs again, so that nothing has resumed it yet.
        until(lambda: state(pid) == "T")
        goes = await asyncio.to_thread(until, lambda: state(pid) == "S")

    assert goes


def do_not_stop(stop: StopOnWrite) -> None:
    """Let the kernel send no signal, though the program is armed."""
    for handle in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if str(handle.readlink()) == stop.pipe:
                fcntl.fcntl(int(handle.name), fcntl.F_SETFL, os.O_NONBLOCK)


@pytest.mark.requirement("snapshots.stopped-in-write")
async def test_held_program_that_is_not_stopped_yet_stays_held_after_disarming() -> None:
    held = Held()
    code = "import sys; sys.stdin.readline(); print('tool', flush=True); sys.stdin.read()"
    async with running(python(code), held.check) as (transport, stop, _):
        # The line is read before the signal arrives.
        do_not_stop(stop)
        transport.send(b"go")
        await held.next()
        stop.disarm()
        stands = await asyncio.to_thread(until, lambda: state(transport.pid) == "T")
        stop.resume()

    assert stands


@pytest.mark.requirement("snapshots.stopped-in-write")
async def test_program_that_is_not_armed_is_not_stopped(tmp_path: Path) -> None:
    held = Held()
    words = python(ANNOUNCES, "3", str(tmp_path))
    async with running(words, held.check) as (transport, stop, output):
        transport.send(b"go")
        assert await held.next() == b"tool 0"
        stop.disarm()
        stands = not (tmp_path / "0").exists()
        stop.resume()
        async with asyncio.timeout(45):
            await output.over.wait()

    assert stands
    assert count(tmp_path) == 3


@pytest.mark.requirement("snapshots.stopped-in-write")
async def test_held_program_is_resumed_when_it_is_ended(tmp_path: Path) -> None:
    held = Held()
    code = f"""
import os, signal, sys
def bye(*_):
    os.close(os.open({str(tmp_path / "bye")!r}, os.O_CREAT))
    sys.exit()
signal.signal(signal.SIGTERM, bye)
sys.stdin.readline()
os.write(1, b"tool\\n")
while True: signal.pause()
"""
    async with running(python(code), held.check) as (transport, _, _output):
        transport.send(b"go")
        assert await held.next() == b"tool"
        await transport.stop(eof_grace=0.01, term_grace=30)

    assert (tmp_path / "bye").exists()


class Times:
    """The time at which each line of an agent was read, as `AgentStop` reports it."""

    def __init__(self) -> None:
        self.seen: list[float | None] = []

    def announces(self, line: bytes | OversizedLine, at: float | None) -> bool:
        del line
        self.seen.append(at)
        return False

    @property
    def are_known(self) -> list[bool]:
        return [at is not None for at in self.seen]


@asynccontextmanager
async def agent(code: str, *words: str) -> AsyncGenerator[ProcessTransport]:
    """Start an agent whose output is read once the test has begun."""
    transport = spawn(Command(tuple(python(CALLS + code, *words))))
    try:
        yield transport
    finally:
        await transport.stop(eof_grace=0, term_grace=0)


@pytest.mark.requirement("snapshots.time-of-call")
async def test_call_of_an_agent_that_asks_has_the_time_at_which_it_was_read() -> None:
    times, output = Times(), Output()
    code = "sys.stdin.readline(); write(call('1'), ask('1'), call('2'))"
    async with (
        AgentStop(times.announces, lambda: None) as stop,
        agent(code) as transport,
    ):
        begun = time.time()
        stop.listen(transport).start(output)
        transport.send(b"go")
        await output.count(3)

    assert times.are_known == [False, False, True]
    assert times.seen[2] is not None
    assert begun <= times.seen[2] <= time.time()


@pytest.mark.requirement("snapshots.time-of-call")
async def test_call_written_in_one_piece_with_the_first_request_has_no_time() -> None:
    times, output = Times(), Output()
    code = "sys.stdin.readline(); write(call('1') + ask('1') + call('2'))"
    async with (
        AgentStop(times.announces, lambda: None) as stop,
        agent(code) as transport,
    ):
        stop.listen(transport).start(output)
        transport.send(b"go")
        await output.count(3)

    assert times.are_known == [False] * 3


@pytest.mark.requirement("snapshots.time-of-call")
async def test_call_written_before_the_stop_is_armed_has_a_time(tmp_path: Path) -> None:
    times, output = Times(), Output()
    code = "write(call('1'), call('2')); written(); sys.stdin.readline(); write(call('3'))"
    async with (
        AgentStop(times.announces, lambda: None) as stop,
        agent(code, str(tmp_path / "written")) as transport,
    ):
        assert until((tmp_path / "written").exists)
        stop.listen(transport).start(output)
        await output.count(2)
        transport.send(b"go")
        await output.count(3)

    assert times.are_known == [True, True, False]


@pytest.mark.requirement("snapshots.time-of-call")
async def test_call_written_before_the_mode_changes_has_a_time(tmp_path: Path) -> None:
    times, output = Times(), Output()
    code = """
write(call("1"), ask("1"))
sys.stdin.readline()
write(call("2"))
written()
sys.stdin.readline()
sys.stdin.readline()
write(call("3"))
"""
    async with (
        AgentStop(times.announces, lambda: None) as stop,
        agent(code, str(tmp_path / "written")) as transport,
    ):
        tapped = stop.listen(transport)
        tapped.start(output)
        await output.count(2)
        # So that the line is in the pipe when the mode changes.
        tapped.pause_reading()
        transport.send(b"go")
        assert await asyncio.to_thread(until, (tmp_path / "written").exists)
        tapped.send(SET_MODE)
        tapped.resume_reading()
        await output.count(3)
        transport.send(b"go")
        await output.count(4)

    assert times.are_known[2:] == [True, False]


@pytest.mark.requirement("snapshots.time-of-call")
async def test_line_read_after_the_program_continued_is_not_one_of_a_stopped_program() -> None:
    held, stopped = Held(), list[bool]()

    def check(lines: Sequence[bytes | OversizedLine]) -> bool:
        stopped.extend(stop.was_stopped for _ in lines)
        if not (is_held := held.check(lines)):
            return False
        transport.pause_reading()
        return is_held

    code = "import os, sys; sys.stdin.readline(); os.write(1, b'tool\\n' + b'x' * 200_000 + b'\\n')"
    async with running(python(code), check) as (transport, stop, output):
        transport.send(b"go")
        await held.next()
        stop.resume()
        transport.resume_reading()
        await output.count(2)

    assert stopped == [True, False]


@pytest.mark.requirement("snapshots.stopped-in-write")
async def test_program_disarmed_in_the_middle_of_a_write_continues() -> None:
    times, output = Times(), Output()
    code = "sys.stdin.readline(); write(ask('1') + b' ' * 200_000 + b'\\n'); write(b'more\\n')"
    async with (
        AgentStop(times.announces, lambda: None) as stop,
        agent(code) as transport,
    ):
        stop.listen(transport).start(output)
        transport.send(b"go")
        await output.count(3)

    assert output.lines[2] == b"more"


@pytest.mark.requirement("snapshots.stands-still")
def test_stopped_program_continues_when_its_session_server_is_killed() -> None:
    code = "import os, signal, sys; sys.stdin.readline(); os.write(1, b'tool\\n'); signal.pause()"
    words = [sys.executable, "-c", PAUSER, *python(code)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        pid = int(server.stdout.readline())
        stood = until(lambda: state(pid) == "T")
        server.kill()
    goes = until(lambda: state(pid) == "S")
    os.killpg(pid, signal.SIGKILL)

    assert (stood, goes) == (True, True)

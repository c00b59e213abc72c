"""Programs as transports: start, arguments, and exit."""

import asyncio
import errno
import json
import logging
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.processes import has_exited

from peerwire.errors import SpawnError
from peerwire.jsonrpc.transport import OversizedLine
from peerwire.testing import LineRecorder, everything_served
from peerwire.transports.command import Command, parse_command
from peerwire.transports.memory import TappedTransport
from peerwire.transports.process import (
    EXIT_GRACE,
    MAX_STDERR_LINE,
    TAIL,
    Child,
    ProcessExitedError,
    ProcessTransport,
    spawn,
)

SHORT = 0.05
"""Seconds of a grace period that must expire."""

LONG = 60.0
"""Seconds of a grace period that must not be waited for."""


def open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def children() -> set[int]:
    """Children of this process, zombies too; earlier tests may have left some."""
    lists = Path("/proc/self/task").glob("*/children")
    return {int(pid) for each in lists for pid in each.read_text().split()}


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Check that no descriptor and no child of this test is left."""
    before, others = open_descriptors(), children()
    yield
    assert open_descriptors() == before
    assert children() <= others


def python(code: str, *args: str, env: dict[str, str] | None = None) -> Command:
    return Command((sys.executable, "-ISc", code, *args), env or {})


def shell(script: str) -> Command:
    return Command(("sh", "-c", script))


class Run:
    """Started program, and its recorded output."""

    def __init__(self, command: Command, *, grace: float = LONG, limit: int = 1 << 20) -> None:
        self.recorder = LineRecorder()
        self.words: list[bytes] = []
        self.process = spawn(command, grace=grace, limit=limit, on_stderr=self.words.append)
        self.process.start(self.recorder)

    async def line(self) -> Any:
        line = (await self.recorder.received(1))[0]
        assert isinstance(line, bytes)
        return json.loads(line)

    async def end(self) -> ProcessExitedError:
        error = await self.recorder.end()
        assert isinstance(error, ProcessExitedError)
        return error


# -- start


@pytest.mark.requirement("process.spawn-argv")
async def test_arguments_reach_a_program_unchanged() -> None:
    args = ("$HOME", "a;b", "*", "two words", '"', "", "ü")
    run = Run(python("import sys, json; print(json.dumps(sys.argv[1:]))", *args))

    assert await run.line() == [*args]
    await run.end()


@pytest.mark.requirement("process.spawn-environment")
async def test_program_gets_the_environment_and_its_own_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OURS", "1")
    monkeypatch.setenv("BOTH", "1")
    code = "import os, json; print(json.dumps(dict(os.environ)))"
    run = Run(python(code, env={"BOTH": "2", "THEIRS": "2"}))

    assert await run.line() == {**os.environ, "BOTH": "2", "THEIRS": "2"}
    await run.end()


@pytest.mark.requirement("process.spawn-path")
async def test_program_is_searched_on_the_path_of_its_environment(tmp_path: Path) -> None:
    program = tmp_path / "only-here"
    program.write_text("#!/bin/sh\necho 1\n")
    program.chmod(0o755)
    run = Run(Command(("only-here",), {"PATH": f"{tmp_path}:{os.environ['PATH']}"}))

    assert await run.line() == 1
    await run.end()


@pytest.mark.requirement("process.spawn-cwd", "process.spec-json-directory")
async def test_program_starts_in_the_given_or_the_current_directory(tmp_path: Path) -> None:
    code = "import os, json; print(json.dumps(os.getcwd()))"
    here = Run(python(code))
    there = Run(Command(python(code).argv, cwd=str(tmp_path)))

    assert await here.line() == str(Path.cwd())
    assert await there.line() == str(tmp_path)
    await here.end()
    await there.end()


@pytest.mark.requirement("process.spawn-own-group")
async def test_program_leads_its_own_session_and_group() -> None:
    code = "import os; print([os.getpid(), os.getpgid(0), os.getsid(0)])"
    run = Run(python(code))

    assert await run.line() == [run.process.pid] * 3
    await run.end()


@pytest.mark.requirement("process.spawn-own-stderr", "process.stderr-unterminated")
async def test_talkative_program_never_blocks_on_stderr() -> None:
    code = "import sys; sys.stderr.write('x' * 5_000_000); sys.stderr.flush(); print(1)"
    run = Run(python(code))

    assert await run.line() == 1
    error = await run.end()
    assert error.stderr_tail == b"x" * TAIL
    assert run.words == [b"x" * MAX_STDERR_LINE + b" [cut, 5000000 bytes in all]"]


@pytest.mark.requirement("process.stderr-life")
async def test_stderr_is_read_before_a_listener_is_attached(tmp_path: Path) -> None:
    done = tmp_path / "done"
    os.mkfifo(done)
    process = spawn(shell(f"head -c 1000000 /dev/zero >&2; echo 1 >{done}"))
    async with asyncio.timeout(45):
        await asyncio.to_thread(done.read_bytes)

    await process.stop()


@pytest.mark.requirement("process.spawn-explained")
@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (
            "no-such-agent --acp",
            "`no-such-agent --acp`: No such file or directory (ENOENT); is no-such-agent installed",
        ),
        ("/no/such/agent", "(ENOENT); correct the path, or install it there"),
        ("'~/bin/agent'", "no shell reads it, so ~ and $ are not expanded"),
        ("'$HOME/agent'", "no shell reads it, so ~ and $ are not expanded"),
        ("./script", "the file is there, but not the interpreter its first line names"),
        ("./text", "Permission denied (EACCES); name a file that may be run (chmod +x"),
        (".", "Permission denied (EACCES); name a file that may be run (chmod +x"),
        ("./nonsense", "Exec format error (ENOEXEC); it is no program of this machine"),
        ("./text/agent", "Not a directory (ENOTDIR); try running it directly"),
        ('{"command": "a", "cwd": "no"}', "No such file or directory no (ENOENT); create its dir"),
        ('{"command": "a", "cwd": "text"}', "Not a directory text (ENOTDIR); create its directory"),
    ],
)
async def test_program_that_cannot_start_is_an_error_with_a_fix(
    spec: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (("script", "#!/no/such/sh\n"), ("text", ""), ("nonsense", "\0")):
        path = tmp_path / name
        path.write_text(content)
        path.chmod(0o644 if name == "text" else 0o755)

    with pytest.raises(SpawnError) as failure:
        spawn(parse_command(spec))

    assert text in str(failure.value)
    assert failure.value.argv == parse_command(spec).argv
    assert errno.errorcode[failure.value.errno or 0] in text or "(E" not in text


@pytest.mark.requirement("process.spawn-explained")
async def test_long_command_line_is_shortened_in_errors() -> None:
    with pytest.raises(SpawnError) as failure:
        spawn(Command(("sh", "-c", "x" * 3_000_000)))

    assert "(E2BIG); its arguments and environment are too long" in str(failure.value)
    assert len(str(failure.value)) < 400


@pytest.mark.requirement("process.spawn-refused")
async def test_too_many_open_files_is_a_clear_error() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_descriptors() + 2, before[1]))
    try:
        with pytest.raises(SpawnError, match=r"\(EMFILE\); too many files are open; close some"):
            spawn(shell("true"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.requirement("process.spawn-refused")
@pytest.mark.parametrize("command", [Command(("a\0b",)), Command(("sh",), {"A=B": "1"})])
async def test_invalid_arguments_are_refused(command: Command) -> None:
    with pytest.raises(SpawnError, match=r"could not start .*; remove NUL characters, and = from"):
        spawn(command)


# -- a program that exits by itself


@pytest.mark.requirement("process.exit-clean")
async def test_exit_with_0_is_reported_after_the_last_line() -> None:
    run = Run(shell("echo 1; echo 2; echo bye >&2"))

    error = await run.end()

    assert run.recorder.lines == [b"1", b"2"]
    assert (error.exit_code, error.signal, error.stderr_tail) == (0, None, b"bye\n")
    assert str(error) == "`sh -c 'echo 1; echo 2; echo bye >&2'` exited with code 0"


@pytest.mark.requirement("process.exit-nonzero-after-eof", "process.stderr-tail")
async def test_exit_code_is_reported_when_the_end_of_output_came_first() -> None:
    run = Run(shell("exec >&-; printf '\\033[31mno key\\033[0m' >&2; exit 3"))

    error = await run.end()

    assert (error.exit_code, error.stderr_tail) == (3, b"\033[31mno key\033[0m")
    assert error.argv[:2] == ("sh", "-c")


@pytest.mark.requirement("process.exit-by-signal")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSEGV"])
async def test_exit_by_a_signal_names_it(name: str) -> None:
    run = Run(shell(f"ulimit -c 0; kill -{name.removeprefix('SIG')} $$"))

    error = await run.end()

    assert (error.exit_code, error.signal) == (None, name)
    assert str(error).endswith(f"was ended by {name}")


@pytest.mark.requirement("process.exit-unnamed-signal")
async def test_signal_without_a_name_is_reported_by_its_number() -> None:
    run = Run(shell("kill -50 $$"))

    assert (await run.end()).signal == "signal 50"


@pytest.mark.requirement("process.exit-descendant-holds-output")
@pytest.mark.requirement("process.end-descendants")
async def test_descendant_that_holds_the_output_delays_the_end_by_the_grace_period() -> None:
    run = Run(shell("sleep 60 & echo $!"), grace=SHORT)

    error = await run.end()

    assert error.exit_code == 0
    assert has_exited(await run.line())


@pytest.mark.requirement("process.end-launcher-gone")
async def test_descendant_that_holds_stderr_only_delays_nothing() -> None:
    run = Run(shell("sleep 60 >/dev/null & echo $!; exit 3"), grace=LONG)

    error = await run.end()

    assert error.exit_code == 3
    assert has_exited(await run.line())


@pytest.mark.requirement("process.exit-descendant-holds-output")
async def test_endless_descendant_does_not_make_the_end_endless() -> None:
    run = Run(shell("yes & exit 1"), grace=SHORT)

    assert (await run.end()).exit_code == 1


@pytest.mark.requirement("process.exit-stdout-closed")
async def test_program_that_closes_its_output_has_ended_and_is_killed() -> None:
    run = Run(shell("echo $$; exec >&-; exec sleep 60"), grace=SHORT)

    error = await run.end()
    await run.process.stop(eof_grace=SHORT)

    assert (error.exit_code, error.signal) == (None, None)
    assert str(error).endswith("closed its input or output but did not exit")
    assert len(run.recorder.ends) == 1
    assert has_exited(run.process.pid)


@pytest.mark.requirement("process.exit-early")
async def test_program_that_closes_its_input_has_ended_at_the_next_send() -> None:
    run = Run(shell("exec <&-; echo 1; exec sleep 60"), grace=SHORT)
    await run.line()
    run.process.send(b"hello?")

    error = await run.end()
    await run.process.stop(eof_grace=SHORT)

    assert error.exit_code is None


@pytest.mark.requirement("process.exit-early")
async def test_output_of_a_program_that_exited_before_the_listener_is_delivered() -> None:
    process = spawn(shell("echo 1"))
    assert has_exited(process.pid)
    messages = LineRecorder()

    process.start(messages)

    await messages.end()
    assert messages.lines == [b"1"]


@pytest.mark.requirement("process.end-drain")
async def test_end_waits_for_a_paused_listener_up_to_the_grace_period() -> None:
    run = Run(shell("cat; echo 2; echo 3"), grace=SHORT)
    run.process.pause_reading()
    run.process.send(b"1")
    await run.process.flush()
    run.process.close_writing()

    await run.end()

    assert run.recorder.lines == [b"1", b"2", b"3"]


# -- a program that the transport stops


@pytest.mark.requirement("process.end-closes-stdin", "process.end-early-leaver")
async def test_program_that_exits_at_the_end_of_its_input_gets_no_signal() -> None:
    code = """if True:
        import signal, sys, time
        signal.signal(signal.SIGTERM, lambda *_: print('"signalled"', flush=True))
        print(1, flush=True)
        sys.stdin.read()
        time.sleep(0.1)
        print(2)
    """
    run = Run(python(code))
    await run.line()

    await run.process.stop(eof_grace=LONG)

    assert run.recorder.lines == [b"1", b"2"]
    assert (await run.end()).exit_code == 0


@pytest.mark.requirement("process.end-closes-stdin", "process.end-terminates", "process.end-kills")
def test_grace_periods_are_those_of_the_specification() -> None:
    assert ProcessTransport.stop.__kwdefaults__ == {"eof_grace": 1.0, "term_grace": 2.0}
    assert ProcessTransport.aclose.__kwdefaults__ == {"grace": 1.0}
    assert EXIT_GRACE == 1.0


STUBBORN = """if True:
    import os, signal, sys, time
    def on_term(*_):
        print('"terminated"', flush=True)
        if sys.argv[1] == "leaves":
            sys.exit(7)
    signal.signal(signal.SIGTERM, on_term)
    print(os.getpid(), flush=True)
    while True:
        time.sleep(60)
"""


@pytest.mark.requirement("process.end-terminates")
async def test_running_program_gets_sigterm() -> None:
    run = Run(python(STUBBORN, "leaves"))
    await run.line()

    await run.process.stop(eof_grace=SHORT, term_grace=LONG)

    assert run.recorder.lines[1:] == [b'"terminated"']
    assert (await run.end()).exit_code == 7


@pytest.mark.requirement("process.end-kills")
async def test_program_that_ignores_sigterm_is_killed() -> None:
    run = Run(python(STUBBORN, "stays"))
    await run.line()

    await run.process.stop(eof_grace=SHORT, term_grace=SHORT)

    assert (await run.end()).signal == "SIGKILL"


@pytest.mark.requirement("process.end-terminates", "process.end-descendants")
async def test_sigterm_goes_to_the_whole_group() -> None:
    launcher = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    run = Run(python(launcher, *python(STUBBORN, "leaves").argv))
    await run.line()

    await run.process.stop(eof_grace=SHORT, term_grace=LONG)

    assert run.recorder.lines[1:] == [b'"terminated"']
    assert (await run.end()).signal == "SIGTERM"


@pytest.mark.requirement("process.end-kills", "process.end-descendants")
async def test_sigkill_goes_to_the_whole_group_after_its_leader_has_exited() -> None:
    launcher = "import subprocess, sys; subprocess.Popen(sys.argv[1:])"
    run = Run(python(launcher, *python(STUBBORN, "stays").argv))
    descendant = await run.line()
    assert has_exited(run.process.pid)

    await run.process.stop(eof_grace=SHORT, term_grace=SHORT)

    assert has_exited(descendant)
    assert (await run.end()).exit_code == 0


@pytest.mark.requirement("process.end-bounded-drain")
async def test_program_that_does_not_read_delays_nothing() -> None:
    run = Run(shell("exec sleep 60"))
    run.process.send(b"x" * 1_000_000)

    await run.process.stop(eof_grace=SHORT)

    assert (await run.end()).signal == "SIGTERM"


@pytest.mark.requirement("process.end-drain")
async def test_pending_output_reaches_a_program_before_the_end_of_its_input() -> None:
    run = Run(python("import sys; print(len(sys.stdin.buffer.read()))"))
    run.process.send(b"x" * 1_000_000)

    await run.process.aclose(grace=LONG)

    assert await run.line() == 1_000_001
    assert (await run.end()).exit_code == 0


@pytest.mark.requirement("process.stop-any-state")
async def test_program_without_a_listener_is_stopped_too() -> None:
    await spawn(shell("cat")).stop(eof_grace=LONG)
    await spawn(shell("exec sleep 60")).stop(eof_grace=SHORT)
    process = spawn(shell("exec sleep 60"))
    process.send(b"1")
    async with asyncio.timeout(1):
        await process.stop(eof_grace=0, term_grace=0)


@pytest.mark.requirement("process.stop-any-state")
async def test_program_that_exited_before_the_listener_is_not_awaited() -> None:
    process = spawn(shell("exit 1"))
    assert has_exited(process.pid)
    await everything_served()

    async with asyncio.timeout(45):
        await process.stop(eof_grace=LONG)


@pytest.mark.requirement("process.stop-any-state")
async def test_exited_program_is_already_stopped() -> None:
    run = Run(shell("exit 1"))
    await run.end()

    await run.process.stop()
    await run.process.aclose()

    assert len(run.recorder.ends) == 1


@pytest.mark.requirement("process.stop-any-state")
async def test_program_can_be_stopped_by_many_callers_at_once() -> None:
    run = Run(python(STUBBORN, "leaves"))
    await run.line()

    async with asyncio.TaskGroup() as tasks:
        for _ in range(3):
            tasks.create_task(run.process.stop(eof_grace=SHORT, term_grace=LONG))

    assert len(run.recorder.ends) == 1


@pytest.mark.requirement("process.end-cancelled")
@pytest.mark.parametrize("times", [1, 2])
async def test_canceled_stop_kills_at_once(times: int) -> None:
    run = Run(python(STUBBORN, "stays"))
    await run.line()

    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        stopping = tasks.create_task(run.process.stop(eof_grace=SHORT, term_grace=LONG))
        await run.recorder.received(2)
        for _ in range(times):
            stopping.cancel()
            await asyncio.sleep(0)

    assert stopping.cancelled()
    assert (await run.end()).signal == "SIGKILL"


@pytest.mark.requirement("process.end-host-killed")
async def test_program_gets_the_end_of_its_input_when_the_host_is_killed() -> None:
    host = """if True:
        import asyncio, os
        from peerwire.transports.command import Command
        from peerwire.transports.process import spawn
        async def main():
            others = [spawn(Command(("cat",))) for _ in range(3)]
            print([process.pid for process in others], flush=True)
            await asyncio.Event().wait()
        asyncio.run(main())
    """
    run = Run(Command((sys.executable, "-c", host)))
    pids = await run.line()

    os.kill(run.process.pid, signal.SIGKILL)

    assert (await run.end()).signal == "SIGKILL"
    assert [has_exited(pid) for pid in pids] == [True] * 3


# -- without process descriptors


@pytest.fixture
def no_pidfd(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_pid: int, _flags: int = 0) -> int:
        raise OSError("not known here")

    monkeypatch.setattr(os, "pidfd_open", refuse)


@pytest.mark.requirement("process.wait-thread")
@pytest.mark.usefixtures("no_pidfd")
async def test_thread_waits_when_the_kernel_has_no_process_descriptors() -> None:
    run = Run(shell("echo 1; exit 3"))
    assert (await run.end()).exit_code == 3
    assert run.recorder.lines == [b"1"]

    stubborn = Run(python(STUBBORN, "stays"))
    await stubborn.line()
    await stubborn.process.stop(eof_grace=SHORT, term_grace=SHORT)
    assert (await stubborn.end()).signal == "SIGKILL"


@pytest.mark.requirement("process.wait-thread")
@pytest.mark.usefixtures("no_pidfd")
def test_thread_may_outlive_the_loop() -> None:
    process = subprocess.Popen(["/bin/sh", "-c", "sleep 60"], start_new_session=True)
    seen: list[bool] = []

    async def watch() -> None:
        Child(process).watch(lambda: seen.append(True))

    asyncio.run(watch())
    process.kill()

    assert process.wait() == -signal.SIGKILL
    for thread in threading.enumerate():
        if thread.daemon:
            thread.join(5)
    assert seen == []


# -- a program that survives SIGKILL


class Stuck(subprocess.Popen[bytes]):
    """Process that never ends, as if stuck in the kernel."""

    def wait(self, timeout: float | None = None) -> int:
        if timeout is None:
            return super().wait()
        raise subprocess.TimeoutExpired(self.args, timeout)


@pytest.mark.requirement("process.end-stuck")
async def test_program_stuck_in_the_kernel_is_left_behind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    process = Stuck(["/bin/sh", "-c", "sleep 60"], start_new_session=True)

    assert Child(process).reap() is None

    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert process.wait() == -signal.SIGKILL


# -- stderr and watching


@pytest.mark.requirement("process.stderr-lines", "process.stderr-long-line")
async def test_stderr_is_delivered_line_by_line() -> None:
    code = f"""if True:
        import sys
        sys.stderr.write("one\\r\\n\\n\\033[1mtwo\\033[0m\\n" + "x" * {MAX_STDERR_LINE} + "\\n")
        sys.stderr.write("y" * {MAX_STDERR_LINE + 1} + "\\nlast")
    """
    run = Run(python(code))

    await run.end()

    assert run.words == [
        *(b"one", b"", b"\033[1mtwo\033[0m", b"x" * MAX_STDERR_LINE),
        b"y" * MAX_STDERR_LINE + b" [cut, %d bytes in all]" % (MAX_STDERR_LINE + 1),
        b"last",
    ]


@pytest.mark.requirement("process.stderr-life")
async def test_last_lines_of_stderr_are_delivered_before_the_end() -> None:
    messages: list[bytes | Exception | None] = []

    class Ending(LineRecorder):
        def ended(self, error: Exception | None) -> None:
            messages.append(error)
            super().ended(error)

    process = spawn(shell("printf 'last words' >&2"), on_stderr=messages.append)
    assert has_exited(process.pid)
    ending = Ending()
    process.start(ending)

    error = await ending.end()

    assert messages == [b"last words", error]


@pytest.mark.requirement("process.stderr-life")
async def test_stderr_may_be_closed_while_the_program_runs() -> None:
    run = Run(shell("echo 1 >&2; exec 2>&-; cat"))
    run.process.send(b"2")
    assert await run.line() == 2

    await run.process.stop(eof_grace=LONG)

    assert (await run.end()).stderr_tail == b"1\n"


@pytest.mark.requirement("process.debug-callback")
async def test_watcher_gets_every_line_of_stdin_stdout_and_stderr() -> None:
    seen: list[tuple[str, bytes | OversizedLine]] = []
    process = spawn(
        shell("read line; echo words >&2; echo $line; echo more"),
        on_stderr=lambda line: seen.append(("stderr", line)),
    )
    tapped = TappedTransport(process, lambda way, line: seen.append((way, line)))
    messages = LineRecorder()
    tapped.start(messages)
    tapped.pause_reading()
    tapped.send(b"x" * 300_000)
    assert tapped.backlog == 300_001
    await messages.paused(1)
    tapped.resume_reading()
    await tapped.drain()

    await messages.end()
    await tapped.aclose()

    sent = ("sent", b"x" * 300_000)
    received = [("received", b"x" * 300_000), ("received", b"more")]
    assert sorted(seen) == sorted([sent, ("stderr", b"words"), *received])
    assert [line for way, line in seen if way == "received"] == messages.lines
    assert messages.resumes == 1

"""Nursery of `tests/support/nursery.py`: a forked program behaves like a started one."""

import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.nursery import EXECUTE, NURSERY, PROGRAM, fork_or_execute
from tests.support.own_home import DEVELOPER_HOME
from tests.support.task_cli import until

pytestmark = pytest.mark.project

ROOT: Final = Path(__file__).parents[2]
WAYS: Final = {
    "script": [PROGRAM],
    "module": [sys.executable, "-m", "symposium"],
    "safe module": [sys.executable, "-P", "-m", "symposium"],
}
INITIALIZE: Final = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'
)


@pytest.fixture(params=list(WAYS.values()), ids=list(WAYS))
def way(request: pytest.FixtureRequest) -> Sequence[str]:
    return request.param


def twice(monkeypatch: pytest.MonkeyPatch, look: Callable[[], Any]) -> tuple[Any, Any]:
    """Return the facts about a forked program, and about a started one."""
    before = NURSERY.count
    forked = look()
    assert NURSERY.count > before
    before = NURSERY.count
    with monkeypatch.context() as real:
        real.setattr(subprocess, "_fork_exec", EXECUTE)
        started = look()
    assert NURSERY.count == before
    return forked, started


def flags_of(descriptor: Path) -> str:
    info = descriptor.parents[1] / "fdinfo" / descriptor.name
    return re.findall(r"flags:\s+(\d+)", info.read_text())[0]


OF_C_LIBRARY: Final = 0b11 << 31
"""The signals 32 and 33 in a mask of signals (nptl(7))."""


def own_signals(line: str) -> str:
    """Leave the signals of the C library out of a line of caught signals."""
    name, _, mask = line.partition("\t")
    return f"{name}\t{int(mask, 16) & ~OF_C_LIBRARY:016x}" if name == "SigCgt:" else line


def facts_of_server(pid: int) -> dict[str, Any]:
    """Facts about a server while it blocks no signal, without those that depend on its load.

    A server starts a thread, and opens a file for it, for each request that it answers at once. It
    blocks signals for a moment whenever it starts a thread or a process. With its first thread, the
    C library catches signals of its own.
    """

    def with_open_signals() -> dict[str, Any] | None:
        try:
            seen = facts(pid)
        except FileNotFoundError:  # the process closed a file before it was read
            return None
        return seen if "SigBlk:\t0000000000000000" in seen["status"] else None

    seen = until(with_open_signals)
    status = [own_signals(each) for each in seen["status"] if not each.startswith("Threads")]
    standard = [each for each in seen["descriptors"] if each[0] <= 2]
    opened = {each[1:] for each in seen["descriptors"] if each[0] > 2}
    return {**seen, "status": status, "descriptors": standard, "opened": opened}


def facts(pid: int) -> dict[str, Any]:
    """Facts that the kernel shows about a running program."""
    place = Path("/proc", str(pid))
    stat = (place / "stat").read_text().rpartition(")")[2].split()
    fields = "Umask|SigBlk|SigIgn|SigCgt|Threads|CapEff|Seccomp"
    own = {"group": stat[2], "session": stat[3]}
    return {
        "parent": stat[1],
        **{name: value == str(pid) for name, value in own.items()},
        "name": (place / "comm").read_text(),
        "words": (place / "cmdline").read_bytes(),
        "variables": sorted((place / "environ").read_bytes().split(b"\0")),
        "directory": (place / "cwd").readlink(),
        "program": (place / "exe").readlink(),
        "limits": (place / "limits").read_text(),
        "status": re.findall(rf"^(?:{fields}):.*$", (place / "status").read_text(), re.MULTILINE),
        "descriptors": sorted(
            (int(each.name), re.sub(r"\d+", "N", str(each.readlink())), flags_of(each))
            for each in (place / "fd").iterdir()
        ),
    }


@pytest.mark.requirement("house.nursery")
@pytest.mark.parametrize("session", [False, True])
def test_forked_program_looks_like_a_started_one_to_the_kernel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, way: Sequence[str], *, session: bool
) -> None:
    names = ("PYTHON", "LANG", "LC_", "LD_")
    of_interpreter = {key: value for key, value in os.environ.items() if key.startswith(names)}

    def look() -> dict[str, Any]:
        old = os.umask(0o027 if session else 0o072)
        with subprocess.Popen(
            [*way, "eliza"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=tmp_path,
            env={**of_interpreter, "PATH": "/bin", "ODD": "a=b\udcff", "HOME": str(tmp_path)},
            pass_fds=[40],
            start_new_session=session,
        ) as process:
            os.umask(old)
            assert process.stdin
            assert process.stdout
            process.stdin.write(INITIALIZE)
            process.stdin.flush()
            assert '"id":1' in process.stdout.readline()
            seen = facts(process.pid)
            process.stdin.close()
        return {**seen, "end": process.returncode}

    os.dup2(2, 40)
    try:
        forked, started = twice(monkeypatch, look)
    finally:
        os.close(40)

    assert forked == started
    assert started["end"] == 0
    assert started["session"] is session


@pytest.mark.requirement("house.nursery")
def test_forked_program_passes_the_same_variables_to_its_agent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    agent = f"/bin/sh -c '/usr/bin/env > {seen}'"
    ours = {name: os.environ[name] for name in os.environ if name != DEVELOPER_HOME}

    def look() -> list[str]:
        seen.unlink(missing_ok=True)
        words = [PROGRAM, "run-with", "--agent", agent]
        subprocess.run(
            words, input=INITIALIZE, text=True, env=ours, capture_output=True, check=False
        )
        # The host names itself by its process id.
        return sorted(re.sub(r"(SYMPOSIUM_HOST=)\d+", r"\1N", seen.read_text()).splitlines())

    forked, started = twice(monkeypatch, look)

    assert forked == started


@pytest.mark.requirement("house.nursery")
@pytest.mark.parametrize("words", [["--version"], ["nope"], ["status", "--help"], ["bus", "x"]])
def test_forked_program_prints_and_exits_like_a_started_one(
    monkeypatch: pytest.MonkeyPatch, way: Sequence[str], words: Sequence[str]
) -> None:
    def look() -> tuple[int, str, str]:
        done = subprocess.run([*way, *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    forked, started = twice(monkeypatch, look)

    assert forked == started


@pytest.mark.requirement("house.nursery")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGABRT])
def test_forked_program_ends_by_a_signal_like_a_started_one(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    def look() -> int:
        with subprocess.Popen(
            [PROGRAM, "run-with", "--agent", "eliza"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdin
            assert process.stdout
            process.stdin.write(INITIALIZE)
            process.stdin.flush()
            process.stdout.readline()
            process.send_signal(number)
            return process.wait()

    forked, started = twice(monkeypatch, look)

    assert forked == started


@pytest.mark.requirement("house.nursery")
@pytest.mark.parametrize(
    "changed",
    [
        {"env": {**os.environ, "PYTHONPATH": "/nowhere"}},
        {"env": {**os.environ, "LC_ALL": "POSIX"}},
        {"preexec_fn": lambda: None},
        {"umask": 0},
        {"close_fds": False},
        {"process_group": 0},
    ],
    ids=["path", "language", "function", "umask", "descriptors", "group"],
)
def test_program_started_in_another_way_is_executed(changed: dict[str, Any]) -> None:
    before = NURSERY.count

    subprocess.run([PROGRAM, "--version"], check=True, stdout=subprocess.DEVNULL, **changed)

    assert NURSERY.count == before


@pytest.fixture
def ignored_signals(request: pytest.FixtureRequest) -> Iterator[None]:
    """Ignore these signals, as a daemon ignores SIGHUP."""
    usual = {number: signal.signal(number, signal.SIG_IGN) for number in request.param}
    yield
    for number, handler in usual.items():
        signal.signal(number, handler)


@pytest.mark.requirement("house.nursery-servers")
@pytest.mark.usefixtures("ignored_signals")
@pytest.mark.parametrize("ignored_signals", [[], [signal.SIGHUP, signal.SIGUSR1]], indirect=True)
def test_session_server_looks_like_a_started_one_to_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    symposium: Callable[..., "subprocess.CompletedProcess[str]"],
) -> None:
    def look() -> dict[str, Any]:
        session = symposium("session", "start", "--", "cat").stdout.strip()
        state = tmp_path / "home" / "sessions" / session / "state.json"
        server = until(lambda: state.exists() and json.loads(state.read_text())["keeper"])
        seen = facts_of_server(server)
        assert symposium("session", "kill", session).returncode == 0
        assert symposium("session", "forget", session).returncode == 0
        words = seen["words"].replace(session.encode(), b"ID")
        files = {
            name: [
                (*number, re.sub(r"/sessions/[^/]+/", "/sessions/ID/", each), flags)
                for *number, each, flags in sorted(seen[name])
            ]
            for name in ("descriptors", "opened")
        }
        return {**seen, **files, "words": words}

    forked, started = twice(monkeypatch, look)

    assert b"symposium.sessions" in started["words"]
    assert forked == started


def layout_of(pid: int) -> bytes:
    """Return the memory layout of a program: a fork has the layout of its parent."""
    return Path("/proc", str(pid), "auxv").read_bytes()


@pytest.mark.requirement("house.nursery-daemons")
def test_daemon_started_by_a_command_looks_like_a_started_one_to_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
    symposium: Callable[..., "subprocess.CompletedProcess[str]"],
) -> None:
    layouts: list[bool] = []

    def look() -> dict[str, Any]:
        assert symposium("inbox").returncode == 0
        status = json.loads(symposium("daemon", "status", "--json").stdout)
        seen = facts_of_server(status["pid"])
        with subprocess.Popen([PROGRAM, "eliza"], stdin=subprocess.PIPE) as another:
            layouts.append(layout_of(status["pid"]) == layout_of(another.pid))
        assert symposium("daemon", "stop").returncode == 0
        return seen

    forked, started = twice(monkeypatch, look)

    assert layouts == [True, False]
    assert b"daemon\0start" in started["words"]
    assert forked == started


@pytest.mark.requirement("house.nursery-daemons")
def test_failed_daemon_ends_its_command_in_the_same_way(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    symposium: Callable[..., "subprocess.CompletedProcess[str]"],
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "log").write_text("no directory", encoding="utf-8")

    def look() -> tuple[int, str, str]:
        done = symposium("inbox")
        return done.returncode, done.stdout, done.stderr

    forked, started = twice(monkeypatch, look)

    assert started[0] != 0
    assert "the daemon did not start" in started[2]
    assert forked == started


@pytest.mark.requirement("house.nursery-servers")
def test_failed_session_server_reports_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def look() -> tuple[bytes, int]:
        reading, writing = os.pipe()
        words = [sys.executable, "-P", "-m", "symposium.sessions", "no id", str(writing)]
        with subprocess.Popen(words, pass_fds=[writing], start_new_session=True) as process:
            os.close(writing)
            with os.fdopen(reading, "rb") as pipe:
                return pipe.read(), process.wait()

    forked, started = twice(monkeypatch, look)

    assert b"is not a session id" in started[0]
    assert forked == started


ON_ANOTHER_MACHINE: Final = """
import subprocess, sys
from tests.support import nursery, denied_syscalls
{change}
subprocess._fork_exec, subprocess._USE_POSIX_SPAWN = nursery.fork_or_execute, False
words = [nursery.PROGRAM, "--version"]
for _ in range(2):
    print(subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip())
words = [sys.executable, "-P", "-m", "symposium.sessions", "no id", "2"]
print(subprocess.run(words, check=True, capture_output=True, text=True, pass_fds=[2]).stderr)
print(nursery.NURSERY.count)
"""


@pytest.mark.requirement("house.nursery-elsewhere")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("", []),
        ("denied_syscalls.refuse_clone_parent(); nursery.NURSERY = nursery.Nursery()", []),
        ("denied_syscalls.refuse_new_arguments(); nursery.NURSERY = nursery.Nursery()", []),
        ("", ["setarch", "i686"]),
        ("nursery.NURSERY = nursery.Nursery(['/bin/true'])", []),
        ("nursery.NURSERY = nursery.Nursery(['/bin/cat'])", []),
    ],
    ids=["usual", "clone", "arguments", "processor", "ends", "odd"],
)
def test_programs_are_executed_when_the_nursery_cannot_work(
    change: str, words: Sequence[str], request: pytest.FixtureRequest
) -> None:
    source = ON_ANOTHER_MACHINE.format(change=change)

    done = subprocess.run(
        [*words, sys.executable, "-c", source],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )

    first, again, server, count = done.stdout.split("\n", 3)
    assert done.returncode == 0, done.stderr
    assert first == again != ""
    assert "is not a session id" in server
    assert int(count) == (3 if request.node.callspec.id == "usual" else 0)


@pytest.mark.requirement("house.nursery-elsewhere")
def test_programs_are_executed_when_python_forks_in_another_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def with_more(*given: Any) -> int:
        return fork_or_execute(*given, "more")

    monkeypatch.setattr(subprocess, "_fork_exec", with_more)
    before = NURSERY.count

    with pytest.raises(TypeError, match="arguments"):
        subprocess.run([PROGRAM, "--version"], check=True)

    assert NURSERY.count == before


@pytest.mark.requirement("house.nursery")
def test_nursery_ends_when_its_process_is_killed() -> None:
    program = """
import os, signal, subprocess
from pathlib import Path
from tests.support.nursery import PROGRAM, fork_or_execute
subprocess._fork_exec, subprocess._USE_POSIX_SPAWN = fork_or_execute, False
subprocess.run([PROGRAM, "--version"], check=True, stdout=subprocess.DEVNULL)
print(Path(f"/proc/self/task/{os.getpid()}/children").read_text(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout
        found = process.stdout.readline().split()
        handle = os.pidfd_open(int(found[0]))
        process.wait()

    assert len(found) == 1
    select.select([handle], [], [])
    os.close(handle)


IGNORING: Final = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
    signal.signal(number, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])
"""

TWO_MODULES: Final = {
    "test_begins.py": """
import signal
def test_begins():
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, [])
    ends = [signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGUSR1)]
    assert ends == [signal.SIG_DFL, signal.SIG_DFL]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
""",
    "test_changes.py": """
import signal
def test_changes():
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
""",
}


@pytest.mark.requirement("house.nursery-kind")
def test_tests_start_with_known_signals_and_fail_if_they_leave_others(tmp_path: Path) -> None:
    for name, text in TWO_MODULES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    options = ["-q", "-p", "no:cacheprovider", "-p", "tests.conftest", "--rootdir", tmp_path]
    settings = ["-c", ROOT / "pyproject.toml"]
    command = [sys.executable, "-m", "pytest", *options, *settings, tmp_path]

    done = subprocess.run(
        [sys.executable, "-c", IGNORING, *command],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "2 passed, 1 error" in done.stdout
    assert "ERROR at teardown of test_changes" in done.stdout
    assert "assert not ['ignored']" in done.stdout


AFTER_ANOTHER_KIND: Final = """
import signal, subprocess
from tests.support.nursery import NURSERY, PROGRAM, fork_or_execute
subprocess._fork_exec, subprocess._USE_POSIX_SPAWN = fork_or_execute, False
usual = signal.signal(signal.SIGHUP, signal.SIG_IGN)
for handler in (usual, signal.SIG_IGN, usual):
    subprocess.run([PROGRAM, "--version"], check=True, stdout=subprocess.DEVNULL)
    print(NURSERY.count)
    signal.signal(signal.SIGHUP, handler)
"""


@pytest.mark.requirement("house.nursery-kind")
def test_nursery_forks_for_usual_processes_in_any_order() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AFTER_ANOTHER_KIND],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )

    assert done.stdout.split() == ["0", "1", "2"]

"""A run ends when it should, leaves nothing behind, and says all of what it said in a file."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.processes import has_exited

from symposium.code.build_output import ScriptReading
from symposium.code.build_project import BuildError, argument, nearest
from symposium.code.build_run import MAX_LOG_FILES, BuildCommand, LogFile, Run, run, run_summarized
from symposium.testing import Recorder

LEAVES_A_CHILD = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
"""
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: os.write(1, b"asked\\n"))
os.write(1, b"%d\\n" % os.getpid())
while True:
    time.sleep(60)
"""


def python(code: str, cwd: Path) -> BuildCommand:
    return BuildCommand((sys.executable, "-c", code), cwd, dict(os.environ))


def content_and_mode(file: str) -> tuple[str, int]:
    return Path(file).read_text(), Path(file).stat().st_mode & 0o777


class Said:
    """Notes what a program said."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def take(self, stream: str, text: str) -> None:
        self.lines.append((stream, text))


class RecordedProgress:
    """Notes how far a run said that it was."""

    def __init__(self) -> None:
        self.notes: list[tuple[float, str]] = []

    def progress(self, done: float, message: str) -> None:
        self.notes.append((done, message))


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "SYMPOSIUM_HOME": str(tmp_path / "home")}


async def outcome(code: str, tmp_path: Path, env: dict[str, str], seconds: float = 9) -> Any:
    wanted = Run((sys.executable, "-c", code), tmp_path, seconds, ScriptReading())
    return await run_summarized(wanted, RecordedProgress().progress, environment=env)


@pytest.mark.requirement("built-in-mods.run-ends")
async def test_child_processes_end_with_the_program(tmp_path: Path) -> None:
    said: list[str] = []
    code = await run(python(LEAVES_A_CHILD, tmp_path), lambda _, text: said.append(text), seconds=9)
    assert code == 0
    assert has_exited(int(said[0]))


@pytest.mark.requirement("built-in-mods.run-ends")
async def test_a_run_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    said: list[str] = []
    command = python(LEAVES_A_CHILD + "child.wait()", tmp_path)
    with pytest.raises(TimeoutError):
        await run(command, lambda _, text: said.append(text), seconds=1)
    assert has_exited(int(said[0]))


@pytest.mark.requirement("built-in-mods.run-ends")
async def test_cancellation_kills_a_program_that_ignores_signals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("symposium.code.build_run.GRACE", 0.2)
    said: Recorder[str] = Recorder()
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(
            run(python(STUBBORN, tmp_path), lambda _, text: said.note(text), seconds=60)
        )
        (pid,) = await said.count(1)
        task.cancel()
    assert task.cancelled()
    assert said.items[1:] == ["asked"]
    assert has_exited(int(pid))


@pytest.mark.requirement("built-in-mods.run-ends")
async def test_exit_code_shows_a_signal(tmp_path: Path) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    assert await run(python(code, tmp_path), Said().take, seconds=9) == -11


@pytest.mark.requirement("built-in-mods.whole-log")
async def test_both_streams_are_read_by_lines(tmp_path: Path) -> None:
    said = Said()
    code = (
        "import sys; sys.stdout.write('a\\n10%\\r20%\\r\\nlast'); sys.stdout.flush();"
        "sys.stderr.buffer.write(b'b\\xff\\n' + b'x' * 2_500_000)"
    )
    await run(python(code, tmp_path), said.take, seconds=9)
    assert [text for stream, text in said.lines if stream == "out"] == ["a", "20%", "last"]
    err = [text for stream, text in said.lines if stream == "err"]
    assert err[0] == "b\ufffd"
    assert sum(map(len, err[1:])) == 2_500_000
    assert len(err) > 2


@pytest.mark.requirement("built-in-mods.whole-log")
async def test_the_answer_names_a_private_file_with_everything(
    tmp_path: Path, env: dict[str, str]
) -> None:
    result = await outcome("for n in range(500): print('line', n)", tmp_path, env)
    assert content_and_mode(result["log"]) == ("".join(f"line {n}\n" for n in range(500)), 0o600)
    assert result["tail"].splitlines()[-1] == "line 499"
    assert len(result["tail"].splitlines()) == 40
    assert (result["status"], result["exit_code"]) == ("ok", 0)


@pytest.mark.requirement("built-in-mods.condensed")
async def test_problems_that_are_left_out_are_counted(tmp_path: Path, env: dict[str, str]) -> None:
    code = "for n in range(30): print(f'a.py:{n + 1}:1: bad')"
    result = await outcome(code, tmp_path, env)
    assert [each["line"] for each in result["problems"]] == list(range(1, 21))
    assert result["more_problems"] == 10


@pytest.mark.requirement("built-in-mods.run-ends", "built-in-mods.condensed")
async def test_stopped_run_reports_its_output(tmp_path: Path, env: dict[str, str]) -> None:
    result = await outcome(
        "import time; print('begun', flush=True); time.sleep(60)", tmp_path, env, seconds=1
    )
    assert (result["status"], result["exit_code"], result["tail"]) == ("timed out", None, "begun")


@pytest.mark.requirement("built-in-mods.whole-log")
def test_large_log_keeps_beginning_and_end(tmp_path: Path) -> None:
    log = LogFile(tmp_path, "x", half=100)
    for number in range(1000):
        log.write(f"line {number}")
    log.close()
    lines = log.path.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("line 0", "line 999")
    assert any("bytes omitted" in each for each in lines)
    assert log.path.stat().st_size < 300


@pytest.mark.requirement("built-in-mods.whole-log")
def test_old_logs_are_removed(tmp_path: Path) -> None:
    for _ in range(MAX_LOG_FILES + 5):
        LogFile(tmp_path, "x").close()
    assert len(list(tmp_path.iterdir())) == MAX_LOG_FILES


@pytest.mark.requirement("built-in-mods.progress")
async def test_progress_of_a_run_is_reported_now_and_then(
    tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("symposium.code.build_run.TELL_EVERY", 0)
    result = RecordedProgress()
    wanted = Run((sys.executable, "-c", "print('a'); print('b')"), tmp_path, 9, ScriptReading())
    await run_summarized(wanted, result.progress, environment=env)
    assert result.notes == [(1, "a"), (2, "b")]


@pytest.mark.requirement("built-in-mods.progress")
async def test_lines_that_come_at_once_are_not_all_reported(
    tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("symposium.code.build_run.TELL_EVERY", 600)
    result = RecordedProgress()
    wanted = Run((sys.executable, "-c", "print('a\\n' * 50)"), tmp_path, 9, ScriptReading())
    await run_summarized(wanted, result.progress, environment=env)
    assert result.notes == []


@pytest.mark.requirement("built-in-mods.condensed")
async def test_a_tool_has_the_environment_that_it_is_given(
    tmp_path: Path, env: dict[str, str]
) -> None:
    said = await outcome("import os; print(os.environ['GIVEN'])", tmp_path, {**env, "GIVEN": "x"})
    assert (said["status"], said["tail"]) == ("ok", "x")


@pytest.mark.requirement("built-in-mods.condensed")
async def test_missing_tool_is_named(tmp_path: Path, env: dict[str, str]) -> None:
    wanted = Run(("no-such-tool",), tmp_path, 9, ScriptReading())
    with pytest.raises(BuildError) as error:
        await run_summarized(wanted, RecordedProgress().progress, environment=env)
    assert error.value.message == "no-such-tool is not installed or not on PATH"
    assert error.value.hint == "install no-such-tool"
    assert not (tmp_path / "home").exists()


@pytest.mark.requirement("built-in-mods.no-shell")
@pytest.mark.parametrize("value", ["", "-p", "--config=x", "a\0b"])
def test_value_that_looks_like_an_option_is_rejected(value: str) -> None:
    with pytest.raises(BuildError):
        argument(value, "name")
    assert argument("a b; rm -rf", "name") == "a b; rm -rf"


@pytest.mark.requirement("built-in-mods.applies")
def test_a_project_is_looked_for_up_to_its_repository(tmp_path: Path) -> None:
    (tmp_path / "Cargo.toml").write_text("")
    inner = tmp_path / "repository" / "src"
    inner.mkdir(parents=True)
    assert nearest(inner, ["Cargo.toml"]) == tmp_path
    (tmp_path / "repository" / ".git").mkdir()
    assert nearest(inner, ["Cargo.toml"]) is None


@pytest.mark.requirement("trust.search-path")
async def test_tool_is_found_in_usual_directories_and_not_in_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    for place in (workspace / "bin", home / ".cargo" / "bin"):
        place.mkdir(parents=True)
        program = place / "builder"
        shown = '"$0" "$PATH" "$TERM" "$NO_COLOR" "$CARGO_TERM_COLOR"'
        program.write_text(f"#!/bin/sh\necho {shown}\n", encoding="utf-8")
        program.chmod(0o755)
    monkeypatch.chdir(workspace)
    environment = {
        "HOME": str(home),
        "SYMPOSIUM_HOME": str(tmp_path / "symposium"),
        "PATH": f"{workspace / 'bin'}:/usr/bin:/bin",
        "TERM": "xterm",
    }
    wanted = Run(("builder",), workspace, 9, ScriptReading())

    done = await run_summarized(wanted, RecordedProgress().progress, environment=environment)

    program, path, *colors = done["tail"].split()
    assert program == str(home / ".cargo" / "bin" / "builder")
    assert str(workspace) not in path
    assert path.startswith("/usr/bin:/bin:")
    assert colors == ["dumb", "1", "never"]

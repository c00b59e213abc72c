"""Command under test, as a program in its own directory."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.support.nursery import EXECUTE, fork_or_execute
from tests.support.own_home import another_home
from tests.support.task_cli import TaskCli, open_task_cli

TIMEOUT: Final = 45.0
"""Seconds that a command may take; a longer run means that it hangs."""

AGENTS: Final = Path(__file__).parent / "agents"
PROGRAM: Final = str(Path(sys.executable).with_name("symposium"))

REAL: Final = frozenset(
    {
        # Memory and time of programs.
        *("test_bench", "test_story_twelve", "test_task_stories", "test_bus_load"),
        # Start, import, and installation.
        *("test_hostile_workspace", "test_lean_install", "test_own_home"),
        "test_third_party_programs",
    }
)
"""Modules whose tests start every interpreter; for others commands are forked, if that works."""


@pytest.fixture(autouse=True)
def forked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the commands that a test starts from a process that has imported them."""
    if EXECUTE and request.path.stem not in REAL:
        monkeypatch.setattr(subprocess, "_fork_exec", fork_or_execute)
        # Python 3.13 spawns programs without a directory; its documentation names this switch.
        monkeypatch.setattr(subprocess, "_USE_POSIX_SPAWN", False)


@pytest.fixture(autouse=True)
def user_home(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create an empty home directory for this test."""
    home = another_home()
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def environment(tmp_path: Path, user_home: Path) -> dict[str, str]:
    """The test's environment, with its own home for Symposium."""
    own = {"SYMPOSIUM_HOME": str(tmp_path / "home"), "SYMPOSIUM_RECOMMENDATIONS": "none"}
    return {**os.environ, **own, "HOME": str(user_home), "TERM": "xterm"}


@pytest.fixture
def symposium(
    tmp_path: Path, environment: dict[str, str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `symposium` with these words until it exits."""

    def run(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PROGRAM, *words],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
            cwd=tmp_path,
            env=environment,
        )

    return run


@pytest.fixture
def start(
    tmp_path: Path, environment: dict[str, str]
) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start `symposium` with these words; kill the rest of it after the test."""
    running: list[subprocess.Popen[str]] = []

    def begin(*words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [PROGRAM, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=environment,
        )
        running.append(process)
        return process

    yield begin
    for process in running:
        process.kill()
        with process:
            pass


@pytest.fixture
def task_cli(environment: dict[str, str], tmp_path: Path) -> Iterator[TaskCli]:
    """The command line in a clone, for tasks."""
    with open_task_cli(tmp_path / "clone", environment) as made:
        yield made


@pytest.fixture
def scripted() -> Callable[..., str]:
    """Create the SPEC of an agent that behaves as these words say."""
    return lambda *words: _script("scripted_agent.py", *words)


@pytest.fixture
def playing() -> Callable[..., str]:
    """Create the SPEC of the agent of this file, with these words."""
    return _script


@pytest.fixture
def marking() -> Callable[[str], str]:
    """Create the SPEC of a mod that puts this letter before the agent's text."""
    return lambda letter: _script("mark_mod.py", letter)


@pytest.fixture
def symposium_spec() -> Callable[..., str]:
    """Create the SPEC of `symposium` with these words."""
    return lambda *words: shlex.join([PROGRAM, *words])


def _script(name: str, *words: str) -> str:
    return shlex.join([sys.executable, str(AGENTS / name), *words])

"""Task commands run in this process, with the daemon and agents in their own processes."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from symposium.__main__ import main

TIMEOUT = 45.0
RETRY = 0.02
GIT = shutil.which("git") or "git"


def git(place: Path, *words: str) -> str:
    who = ["-c", "user.name=Me", "-c", "user.email=me@example.org"]
    done = subprocess.run(
        [GIT, *who, *words], cwd=place, capture_output=True, text=True, check=True
    )
    return done.stdout


def until(check: Callable[[], Any], timeout: float = TIMEOUT) -> Any:
    """Wait until `check` returns a true value; return it. It polls another process."""
    deadline = time.monotonic() + timeout
    while not (found := check()):
        assert time.monotonic() < deadline, "timed out"
        time.sleep(RETRY)
    return found


@dataclass(frozen=True)
class Ran:
    """Result of a command."""

    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class TaskCli:
    """Command line in a clone: commands run in this process, daemon and agents in their own."""

    clone: Path
    environment: dict[str, str]

    @property
    def home(self) -> Path:
        return Path(self.environment["SYMPOSIUM_HOME"])

    def run(self, *words: str) -> Ran:
        done = CliRunner().invoke(main, list(words), env=self.environment)
        return Ran(done.exit_code, done.stdout, done.stderr)

    def ok(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, *words: str, code: int | None = None) -> Any:
        """Return the parsed output of a command with `--json`.

        Args:
            words: the command.
            code: its exit code. Default: 0, and for the inbox 10 if something waits.
        """
        done = self.run(*words, "--json")
        assert done.stdout, done.stderr
        found = json.loads(done.stdout)
        expected = (10 if words == ("inbox",) and found else 0) if code is None else code
        assert done.returncode == expected, (words, done.returncode, done.stderr)
        return found

    def new(self, name: str, *words: str) -> dict[str, Any]:
        made = self.run("task", "new", name, *words, "--project", str(self.clone), "--json")
        assert made.returncode == 0, made.stderr
        return json.loads(made.stdout)

    def tasks(self) -> dict[str, Any]:
        return {each["name"]: each for each in self.json("task", "list", "--all")}

    def kill_daemon(self) -> None:
        """Kill the daemon, as a power failure does, and wait until it has exited."""
        pid = self.json("daemon", "status")["pid"]
        os.kill(pid, signal.SIGKILL)
        until(lambda: not is_alive(pid))

    def session_server(self, task: str) -> int:
        state = self.home / "sessions" / task / "state.json"
        return json.loads(state.read_text())["keeper"]

    def events(self, task: str) -> list[dict[str, Any]]:
        """Events so far; the server may be writing one more."""
        file = self.home / "sessions" / task / "events.jsonl"
        written = file.read_bytes().split(b"\n")[:-1] if file.exists() else []
        return [json.loads(line) for line in written]

    def said(self, task: str) -> str:
        """The agent's text so far."""
        updates = [each["data"] for each in self.events(task) if each["type"] == "update"]
        chunks = [each for each in updates if each["sessionUpdate"] == "agent_message_chunk"]
        return "".join(each["content"]["text"] for each in chunks)


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def processes_of(home: Path) -> set[int]:
    """Running processes with this Symposium home in their environment."""
    wanted = f"SYMPOSIUM_HOME={home}\0".encode()
    found = {int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()}
    return {
        pid for pid in found - {os.getpid()} if _environment(pid).count(wanted) and is_alive(pid)
    }


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def end_processes(home: Path) -> None:
    """Kill the daemon, the agents, and everything else that runs for a Symposium home."""
    while left := processes_of(home):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(RETRY)


def make_clone(clone: Path) -> Path:
    clone.mkdir()
    git(clone, "init", "-q", "-b", "main")
    (clone / "a.txt").write_text("one\ntwo\nthree\n")
    git(clone, "add", ".")
    git(clone, "commit", "-qm", "first")
    return clone


@contextmanager
def open_task_cli(clone: Path, environment: dict[str, str]) -> Generator[TaskCli]:
    """Open a TaskCli in a new clone; kill every process that it has started at the end."""
    made = TaskCli(make_clone(clone), environment)
    try:
        yield made
    finally:
        end_processes(made.home)

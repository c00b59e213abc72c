"""Daemons that pause at a stage, commands to kill meanwhile, and checks of the result."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.task_cli import TaskCli, git, is_alive, processes_of, until


@dataclass
class PauseHarness:
    """Clone with its command line, one daemon at a time, and the started clients.

    Attributes:
        acknowledged: the ids of taskspaces and the log lines whose recording was confirmed.
    """

    task_cli: TaskCli
    folder: Path
    nursery: subprocess.Popen[str]
    acknowledged: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def daemon(self, stage: str = "") -> None:
        """Start a daemon that pauses at this stage once `arm` is called."""
        said = "RUNNING"
        while said == "RUNNING":
            # The threads of a killed daemon may hold its lock a moment longer than the process
            # exists.
            self._ask({"daemon": stage})
            said = self._said()
        assert said == "READY", (said, self.words())

    def arm(self) -> None:
        """Let the daemon pause at its stage from now on."""
        (self.folder / "armed").touch()

    def client(self, *words: str) -> int:
        """Start `symposium` with these words; return its process id."""
        self._ask({"client": list(words)})
        name, pid = self._said().split()
        assert name == "CLIENT"
        return int(pid)

    def stopped(self) -> None:
        """Wait until the daemon has paused."""
        assert self._said() == "AT", self.words()

    def resume(self) -> None:
        """Let the daemon continue."""
        (self.folder / "go").write_bytes(b"")

    def ended(self) -> None:
        """Wait until a client has exited with 0."""
        assert self._said() == "ENDED 0", self.words()

    def words(self) -> str:
        """Output of the clients."""
        file = self.folder / "client.out"
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def restart(self, stage: str = "") -> None:
        """Kill the daemon, and start another."""
        self.task_cli.kill_daemon()
        self.daemon(stage)

    def log(self, task: str, text: str) -> None:
        """Add a log line that is acknowledged."""
        self.task_cli.ok("task", "log", task, "--add", text)
        self.acknowledged.append((task, text))

    def messages(self, task: str) -> list[str]:
        """Log lines of a taskspace, oldest first."""
        return [each["message"] for each in self.task_cli.json("task", "log", task)]

    def problem(self) -> str:
        """Describe orphaned, incomplete, or lost items; or return an empty text."""
        tasks = self.task_cli.json("task", "list", "--all")
        live = {each["worktree"]: each for each in tasks if each["archived_at"] is None}
        locks = "\n".join(map(str, (self.task_cli.clone / ".git").glob("*.lock")))
        for kind, found, wanted in (
            ("worktrees", self._worktrees(), set(live)),
            ("folders", self._folders(), set(live)),
            ("homes", self._homes(), {f"task-{each['id']}" for each in live.values()}),
            ("changes in the clone", git(self.task_cli.clone, "status", "--porcelain"), ""),
            ("locks in the clone", locks, ""),
        ):
            if found != wanted:
                return f"{kind}: {found}, not {wanted}"
        for each in live.values():
            if problem := _problem_of(each):
                return f"{each['name']}: {problem}"
        return ""

    def lost(self) -> list[tuple[str, str]]:
        """Acknowledged log lines that are missing."""
        return [each for each in self.acknowledged if each[1] not in self.messages(each[0])]

    def whole(self) -> None:
        """Wait until there is no problem: an interrupted operation may still be completed."""
        try:
            until(lambda: not self.problem())
        except AssertionError as error:
            raise AssertionError(self.problem()) from error

    def processes(self) -> set[int]:
        """Processes of this harness, except the daemon and the nursery."""
        found = processes_of(self.task_cli.home)
        return found - {self.nursery.pid, self.task_cli.json("daemon", "status")["pid"]}

    def agent(self, task: str) -> int:
        """Process id of a taskspace's agent, which its session server has started."""
        session_server = self.task_cli.session_server(task)
        return int(until(lambda: children(session_server))[0])

    def _worktrees(self) -> set[str]:
        try:
            listed = (
                git(self.task_cli.clone, "worktree", "list", "--porcelain").strip().split("\n\n")
            )
        except subprocess.CalledProcessError as error:
            # It reads a worktree that is being removed; `whole` tries again.
            return {error.stderr}
        found = {each.splitlines()[0].removeprefix("worktree ") for each in listed}
        return found - {str(self.task_cli.clone)}

    def _folders(self) -> set[str]:
        tasks = self.task_cli.clone.with_name("clone.tasks")
        found = set(tasks.iterdir()) if tasks.exists() else set[Path]()
        return {str(each) for each in found - {tasks / ".symposium"}}

    def _homes(self) -> set[str]:
        homes = self.task_cli.clone.with_name("clone.tasks") / ".symposium"
        return {each.name for each in homes.iterdir()} if homes.exists() else set()

    def _ask(self, what: Any) -> None:
        assert self.nursery.stdin is not None
        self.nursery.stdin.write(json.dumps(what) + "\n")
        self.nursery.stdin.flush()

    def _said(self) -> str:
        assert self.nursery.stdout is not None
        return self.nursery.stdout.readline().strip()


def _problem_of(task: dict[str, Any]) -> str:
    tree, branch = Path(task["worktree"]), f"refs/heads/{task['branch']}"
    if task["standing"] not in {"ready", "setup-failed"}:
        return f"it is {task['standing']}"
    if (head := git(tree, "symbolic-ref", "HEAD").strip()) != branch:
        return f"it is on {head}"
    if missing := git(tree, "ls-files", "--deleted"):
        return f"{missing} is missing"
    git(tree, "rev-parse", "--verify", branch)
    inside = Path(git(tree, "rev-parse", "--absolute-git-dir").strip())
    begun = [*inside.glob("*.lock"), *inside.glob("rebase-*"), *inside.glob("MERGE_HEAD")]
    return f"there is {begun}" if begun else ""


def children(pid: int) -> list[str]:
    """Ids of the child processes."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()


def kill(pid: int) -> None:
    """Kill a process, if it runs, and wait until it has exited."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not is_alive(pid))


@contextmanager
def pause_harness(task_cli: TaskCli, folder: Path) -> Generator[PauseHarness]:
    """Create a harness for a clone; end everything that it has started."""
    folder.mkdir()
    os.mkfifo(folder / "go")
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    nursery = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("pausing_daemon.py")), folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**task_cli.environment, "PYTHONPATH": path},
    )
    try:
        yield PauseHarness(task_cli, folder, nursery)
    finally:
        os.killpg(nursery.pid, signal.SIGKILL)
        with nursery:
            pass

"""Daemons that stop at a stage, commands to be killed meanwhile, and what must hold afterwards."""

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
    """A clone with its command line, one daemon at a time, and the clients that were started.

    Attributes:
        acknowledged: what was told to be recorded: a taskspace's id and a line of progress.
    """

    task_cli: TaskCli
    folder: Path
    nursery: subprocess.Popen[str]
    acknowledged: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def daemon(self, stage: str = "") -> None:
        """Start one that stops at this stage once it is told to be ready for that."""
        said = "RUNNING"
        while said == "RUNNING":
            # The threads of one that was killed hold its lock a moment longer than it is there.
            self._ask({"daemon": stage})
            said = self._said()
        assert said == "READY", (said, self.words())

    def arm(self) -> None:
        """From now on the daemon stops at its stage."""
        (self.folder / "armed").touch()

    def client(self, *words: str) -> int:
        """Begin `symposium` with these words; its process."""
        self._ask({"client": list(words)})
        name, pid = self._said().split()
        assert name == "CLIENT"
        return int(pid)

    def stopped(self) -> None:
        """Wait until the daemon has stopped."""
        assert self._said() == "AT", self.words()

    def go_on(self) -> None:
        """Let the daemon go on."""
        (self.folder / "go").write_bytes(b"")

    def ended(self) -> None:
        """Wait until a client has ended, and well."""
        assert self._said() == "ENDED 0", self.words()

    def words(self) -> str:
        """What the clients have said."""
        file = self.folder / "client.out"
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def restart(self, stage: str = "") -> None:
        """Kill the daemon, and start another."""
        self.task_cli.kill_daemon()
        self.daemon(stage)

    def log(self, task: str, text: str) -> None:
        """Add a line of progress that is acknowledged."""
        self.task_cli.ok("task", "log", task, "--add", text)
        self.acknowledged.append((task, text))

    def messages(self, task: str) -> list[str]:
        """The lines of progress of a taskspace, oldest first."""
        return [each["message"] for each in self.task_cli.json("task", "log", task)]

    def trouble(self) -> str:
        """What is orphaned, half made or lost; empty if nothing is."""
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
            if trouble := _trouble_of(each):
                return f"{each['name']}: {trouble}"
        return ""

    def lost(self) -> list[tuple[str, str]]:
        """What was acknowledged and is not there."""
        return [each for each in self.acknowledged if each[1] not in self.messages(each[0])]

    def whole(self) -> None:
        """Wait until nothing is in trouble; who has gone may have left work to be ended."""
        try:
            until(lambda: not self.trouble())
        except AssertionError as error:
            raise AssertionError(self.trouble()) from error

    def processes(self) -> set[int]:
        """Whatever runs for this harness but the daemon and the nursery."""
        found = processes_of(self.task_cli.home)
        return found - {self.nursery.pid, self.task_cli.json("daemon", "status")["pid"]}

    def agent(self, task: str) -> int:
        """The process of a taskspace's agent: what its keeper has started."""
        keeper = self.task_cli.keeper(task)
        return int(until(lambda: children(keeper))[0])

    def _worktrees(self) -> set[str]:
        try:
            listed = (
                git(self.task_cli.clone, "worktree", "list", "--porcelain").strip().split("\n\n")
            )
        except subprocess.CalledProcessError as error:
            # It reads a worktree that is being removed; `whole` asks again.
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


def _trouble_of(task: dict[str, Any]) -> str:
    tree, branch = Path(task["worktree"]), f"refs/heads/{task['branch']}"
    if task["standing"] not in {"ready", "setup-failed"}:
        return f"it is {task['standing']}"
    if (head := git(tree, "symbolic-ref", "HEAD").strip()) != branch:
        return f"it is on {head}"
    if missing := git(tree, "ls-files", "--deleted"):
        return f"{missing} is not there"
    git(tree, "rev-parse", "--verify", branch)
    inside = Path(git(tree, "rev-parse", "--absolute-git-dir").strip())
    begun = [*inside.glob("*.lock"), *inside.glob("rebase-*"), *inside.glob("MERGE_HEAD")]
    return f"there is {begun}" if begun else ""


def children(pid: int) -> list[str]:
    """The processes that one has started."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()


def kill(pid: int) -> None:
    """Kill a process, if it lives, and wait until it is gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not is_alive(pid))


@contextmanager
def pause_harness(task_cli: TaskCli, folder: Path) -> Generator[PauseHarness]:
    """A harness over a task_cli; what it has started ends with it."""
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

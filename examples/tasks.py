"""Two tasks side by side in a repository of their own: ask, delete, restore, land.

Everything happens in a temporary directory, with the commands that a user types.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

PROGRAM: Final = [sys.executable, "-m", "symposium"]
WORKER: Final = Path(__file__).with_name("worker.py")
TIMEOUT: Final = 30.0
"""Seconds to wait for an agent."""


class Scene:
    """One repository, and the commands on it."""

    def __init__(self, place: Path) -> None:
        self.clone = place / "greetings"
        self.clone.mkdir()
        # Sockets want short paths, and what is shown should not be about temporary directories.
        self._env = {**os.environ, "SYMPOSIUM_HOME": str(place / "h"), "NO_COLOR": "1"}

    def begin(self) -> None:
        """Make a repository with one commit."""
        self._git("init", "--quiet", "--initial-branch", "main")
        (self.clone / "README").write_text("Greetings\n", encoding="utf-8")
        self._git("add", "README")
        self._git("commit", "--quiet", "--message", "Begin")

    def run(self, *words: str) -> str:
        """Run `symposium` with these arguments; its output."""
        done = subprocess.run(  # noqa: S603 - our own program
            [*PROGRAM, *words],
            cwd=self.clone,
            env=self._env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in {0, 10}:
            raise SystemExit(f"{done.stdout}{done.stderr}")
        return done.stdout

    def json(self, *words: str) -> Any:
        """Run it with `--json`; the decoded output."""
        return json.loads(self.run(*words, "--json"))

    def agent(self, file: str, text: str) -> str:
        """The command line of an agent that writes a text to a file."""
        return shlex.join([sys.executable, str(WORKER), file, text])

    def until_waiting(self, count: int) -> list[Any]:
        """The items of the inbox, once there are that many."""
        deadline = time.monotonic() + TIMEOUT
        while len(items := self.json("inbox")) != count:
            if time.monotonic() > deadline:
                raise SystemExit(f"{len(items)} items in the inbox, not {count}")
            time.sleep(0.1)
        return items

    def until_done(self, name: str) -> None:
        """Wait until the agent of a task is idle."""
        deadline = time.monotonic() + TIMEOUT
        while self.json("task", "show", name)["taskspace"]["state"] != "idle":
            if time.monotonic() > deadline:
                raise SystemExit(f"the agent of {name!r} is not idle after {TIMEOUT:.0f} s")
            time.sleep(0.1)

    def log(self) -> str:
        """The commits of `main`."""
        return self._git("log", "--format=%s", "main")

    def end(self) -> None:
        """Stop every session and the daemon."""
        for session in self.json("session", "list"):
            self.run("session", "kill", session["id"])
        self.run("daemon", "stop")

    def _git(self, *words: str) -> str:
        author = ["-c", "user.name=You", "-c", "user.email=you@example.org"]
        command = ["git", *author, *words]
        return subprocess.run(  # noqa: S603 - fixed words
            command, cwd=self.clone, capture_output=True, text=True, check=True
        ).stdout


def main() -> None:
    """Play the scene in a temporary directory."""
    with tempfile.TemporaryDirectory(prefix="sym-") as place:
        scene = Scene(Path(place))
        scene.begin()
        try:
            play(scene)
        finally:
            scene.end()


def play(scene: Scene) -> None:
    """Run two tasks from start to finish."""
    print("  two tasks in one clone, each with its own worktree and agent\n")
    for name, file, text in (
        ("greet in French", "bonjour.txt", "Bonjour"),
        ("greet in German", "hallo.txt", "Hallo"),
    ):
        scene.run("task", "new", name, "--agent", scene.agent(file, text))
    french, german = sorted(scene.until_waiting(2), key=lambda item: item["text"])
    _states(scene)
    note("both agents ask before they write: one inbox has both questions")
    for item in (french, german):
        printed = scene.run("inbox", "answer", item["id"], "yes")
        print(f"  {item['name']}: {item['text']}? yes → {printed.strip()}")
    for name in ("greet in French", "greet in German"):
        scene.until_done(name)
    note("both agents wrote and committed their file, each on its own branch")

    scene.run("task", "rm", "greet in German", "--discard-work")
    _states(scene)
    note("you delete one by accident: its worktree and its agent are gone")
    scene.run("task", "undo", "greet in German")
    printed = scene.run("task", "diff", "greet in German", "--stat")
    print("".join(f"  {line.strip()}\n" for line in printed.splitlines()), end="")
    note("undo restores it: files, branch and log")

    scene.run("task", "land", "greet in French")
    print("".join(f"  {line}\n" for line in scene.log().splitlines()), end="")
    note("the other one is now on main")


def _states(scene: Scene) -> None:
    tasks = scene.json("task", "list", "--all")
    for task in sorted(tasks, key=lambda each: each["name"]):
        print(f"  {task['name']:16}  {task['state']:18}  {task['branch']}")


def note(text: str) -> None:
    """Explain what just happened."""
    print(f"          ✔ {text}\n", flush=True)


if __name__ == "__main__":
    main()

"""Git repository that tests write step by step."""

import os
import subprocess
from pathlib import Path


class GitRepository:
    """Files that tests write, add, and commit in a folder.

    Attributes:
        path: the folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main", "--template=")

    def write(self, name: str, text: str) -> Path:
        """Write a file."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        return file

    def append(self, name: str, text: str) -> None:
        """Append to a file."""
        self.write(name, (self.path / name).read_text(encoding="utf-8") + text)

    def commit(self, message: str = "change") -> None:
        """Commit everything."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)

    def git(self, *arguments: str) -> str:
        """Run git without the settings of the machine."""
        identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.path),
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        done = subprocess.run(
            ["git", *identity, *arguments],  # noqa: S607 - the installed git
            cwd=self.path,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

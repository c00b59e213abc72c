"""What an agent wants to do, in the words in which rules speak of it."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TypeAlias


class Access(Enum):
    """What happens to a file."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class RunScript:
    """Run this in a shell.

    Attributes:
        text: the script.
        is_exact: whether it is what will run, not a title made for people.
        directory: where it runs; None for the root of the workspace.
        doubts: what else the call asks for that no rule can judge.
    """

    text: str
    is_exact: bool = True
    directory: str | None = None
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TouchFile:
    """Read or write a file; the path may be relative to the workspace."""

    access: Access
    path: str


@dataclass(frozen=True, slots=True)
class CallTool:
    """Anything else: a tool, by its title or name, of one of ACP's kinds."""

    name: str
    kind: str


Action: TypeAlias = RunScript | TouchFile | CallTool


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where an agent works.

    Attributes:
        root: the directory of the session.
        others: further directories that it was given.
    """

    root: Path
    others: tuple[Path, ...] = ()

    def resolved(self, path: str) -> Path:
        """The file that a path leads to, links followed; it need not exist.

        Raises:
            ValueError: no file can have that name.
        """
        return (self.root / path).resolve()

    def is_path(self, path: str) -> bool:
        """Whether a file can have that name; one with a NUL byte, or a loop of links, cannot."""
        try:
            self.resolved(path)
        except (ValueError, OSError, RuntimeError):
            return False
        return True

    def holds(self, path: str) -> bool:
        """Whether it leads to a place inside; a link that leads out does not."""
        if not self.is_path(path):
            return False
        target = self.resolved(path)
        return any(
            target.is_relative_to(directory.resolve()) for directory in (self.root, *self.others)
        )

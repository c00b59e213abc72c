"""Where the parts of a taskspace are, in each layout.

Beside a clone (architecture D10): `../<repo>.tasks/<slug>` is the worktree, and
`../<repo>.tasks/.symposium/task-<uuid>/` holds its file. In a seed project
(bus-mcp-taskspaces §3.1): `Name.symposium/task-<UUID>/{taskspace.json,<repo>/}`. Embedded:
`.symposium/taskspace-<UUID>/{taskspace.json,<repo>/}` in the checkout.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from symposium.taskspaces.model import Layout

TASKSPACE_FILE: Final = "taskspace.json"
PROJECT_FILE: Final = "project.json"
ROOT_FILE: Final = "root-taskspace.json"
BESIDE_FOLDER: Final = ".symposium"

_ID: Final = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
TASK_FOLDER: Final = re.compile(rf"task(?:space)?-({_ID})")

_PREFIXES: Final = ("task-", "taskspace-")


@dataclass(frozen=True, slots=True)
class Places:
    """Of one taskspace.

    Attributes:
        home: the directory with its file, gone when it is.
        file: its `taskspace.json`.
    """

    home: Path
    file: Path
    worktree: Path
    branch: str


@dataclass(frozen=True, slots=True)
class Project:
    """What taskspaces belong to.

    Attributes:
        directory: what names it: the clone's root, or the seed project's directory.
        repository: where git runs.
        default_branch: what the project's settings say new work starts from.
    """

    directory: Path
    repository: Path
    layout: Layout
    repo_name: str
    default_branch: str | None = None

    @property
    def tasks(self) -> Path:
        """The directory that holds its taskspaces."""
        match self.layout:
            case Layout.BESIDE:
                return self.directory.with_name(f"{self.directory.name}.tasks")
            case Layout.PROJECT:
                return self.directory
            case Layout.EMBEDDED:
                return self.directory / ".symposium"

    @property
    def homes(self) -> Path:
        """The directory in which each taskspace has its own."""
        return self.tasks / BESIDE_FOLDER if self.layout is Layout.BESIDE else self.tasks

    def places(self, id_: str, slug: str) -> Places:
        """Where the parts of one are, or are to be."""
        prefix = "taskspace" if self.layout is Layout.EMBEDDED else "task"
        home = self._home(id_) or self.homes / f"{prefix}-{id_}"
        file = home / TASKSPACE_FILE
        if self.layout is Layout.BESIDE:
            return Places(home, file, self.tasks / slug, f"task/{slug}")
        return Places(home, file, home / self.repo_name, f"taskspace-{id_}")

    def _home(self, id_: str) -> Path | None:
        """Its directory as it is already called: the reference's app writes upper case."""
        written = sorted(f"{prefix}{each}" for prefix in _PREFIXES for each in (id_, id_.upper()))
        for name in written:
            home = self.homes / name
            if home.is_dir() and not home.is_symlink():
                return home
        # Its id is in mixed case, or it has no directory: read all names, and look at none.
        try:
            names = sorted(each.name for each in self.homes.iterdir())
        except OSError:
            return None
        found = [name for each in names if (name := TASK_FOLDER.fullmatch(each))]
        homes = [self.homes / name[0] for name in found if name[1].lower() == id_]
        return next((each for each in homes if each.is_dir() and not each.is_symlink()), None)

    def existing(self) -> list[tuple[str, Path]]:
        """The id and the directory of each taskspace that has one."""
        try:
            with os.scandir(self.homes) as entries:
                found = [each.name for each in entries if each.is_dir(follow_symlinks=False)]
        except OSError:
            return []
        names = [name for each in sorted(found) if (name := TASK_FOLDER.fullmatch(each))]
        return [(name[1].lower(), self.homes / name[0]) for name in names]


def repo_name_of(url: str) -> str:
    """The directory of the worktree in a seed project (§3.1)."""
    last = re.split(r"[/:\\]", url.rstrip("/"))[-1].replace(".git", "")
    return last if re.fullmatch(r"[\w.+-]+", last) and last not in {".", ".."} else "repo"

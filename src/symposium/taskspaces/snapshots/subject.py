"""A worktree that is snapshotted, and the folders in which Symposium keeps what it knows of it."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localio.files import make_private_directory
from symposium.git.program import Git
from symposium.taskspaces.snapshots.store import directory_of

REFS: Final = "refs/symposium/snap"

_PRIVATE_FOLDER: Final = 0o700
_DISPLACED: Final = "displaced"
_OLD: Final = ("objects", "refs", "info")


@dataclass(frozen=True, slots=True)
class Subject:
    """A worktree that is snapshotted.

    Attributes:
        id: names its refs in the store.
        common: the clone's git directory.
        shadow: a folder of Symposium's for this worktree; made when first needed.
        precious: patterns of ignored files that are kept whatever their size.
    """

    id: str
    worktree: Path
    common: Path
    shadow: Path
    precious: tuple[str, ...] = ()

    @property
    def refs(self) -> str:
        """The folder of its refs."""
        return f"{REFS}/{self.id}"

    @property
    def store(self) -> Path:
        """The directory of the store that has its snapshots."""
        return directory_of(self.shadow.parent.parent, self.common)

    def clone(self) -> Git:
        """Git in the clone, wherever its worktrees are."""
        return Git(self.common, {"GIT_DIR": str(self.common)})

    def displaced(self, moment: str) -> Path:
        """Where files are moved that were in the way of a restore."""
        return self.shadow / _DISPLACED / moment

    def prepare(self) -> None:
        """Make the shadow; of an older version's, take what is no longer used away.

        Raises:
            OSError: the disk cannot.
        """
        make_private_directory(self.shadow, is_synced=True)
        for folder in (self.shadow.parent, self.shadow):
            folder.chmod(_PRIVATE_FOLDER)
        if (self.shadow / "config").exists():
            self._tidy()

    def _tidy(self) -> None:
        for path in list(self.shadow.iterdir()):
            if path.name == _DISPLACED:
                continue
            if path.name in _OLD and path.is_dir():
                for place, folders, files in os.walk(path, topdown=False):
                    for name in files:
                        (Path(place) / name).unlink()
                    for name in folders:
                        (Path(place) / name).rmdir()
                path.rmdir()
            elif path.is_file() and path.suffix != ".cache":
                path.unlink()

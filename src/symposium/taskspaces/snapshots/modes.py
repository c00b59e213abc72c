"""Who may read and write the files of a worktree: git keeps only which of them are programs."""

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from symposium.taskspaces.snapshots.subject import Subject

_NONE: Final = ""
"""The kind of a link: it has no permissions."""


@dataclass(frozen=True, slots=True)
class Modes:
    """The permissions of all files and folders of a worktree.

    Attributes:
        usual: those of most, by kind: `plain`, `program`, `folder`.
        unusual: those that differ from that, by name.
    """

    usual: Mapping[str, int] = field(default_factory=dict[str, int])
    unusual: Mapping[str, int] = field(default_factory=dict[str, int])

    def of(self, name: str, kind: str) -> int | None:
        """What one had; None if that was not kept."""
        return self.unusual.get(name, self.usual.get(kind))

    def with_these(self, fresh: Mapping[str, int]) -> "Modes":
        """The same, with what has been looked at since."""
        return Modes(self.usual, {**self.unusual, **fresh})


async def names_in(subject: Subject, index: str, nested: Iterable[str]) -> list[str]:
    """Every file that is kept, as paths in the worktree.

    Raises:
        TaskspaceError: git cannot say.
    """
    git = subject.looking_at(subject.worktree, index)
    names = (await git.ask("ls-files", "-z")).names
    return [*names, *(name for inside in nested for name in _walked(subject.worktree, inside))]


def _walked(worktree: Path, inside: str) -> Iterator[str]:
    for place, folders, files in os.walk(worktree / inside):
        folders[:] = [name for name in folders if name != ".git"]
        here = os.path.relpath(place, worktree)
        yield from (f"{here}/{name}" for name in files)


def modes_of(worktree: Path, names: Sequence[str]) -> Modes:
    """The permissions of these files and of the folders that they are in."""
    seen = _looked_at(worktree, names)
    usual: dict[str, int] = {}
    for mode, _ in Counter(seen.values()).most_common():
        usual.setdefault(_kind(mode), stat.S_IMODE(mode))
    expected = {mode for mode in set(seen.values()) if usual[_kind(mode)] == stat.S_IMODE(mode)}
    unusual = {
        name: stat.S_IMODE(mode)
        for name, mode in seen.items()
        if mode not in expected and _kind(mode) != _NONE
    }
    usual.pop(_NONE, None)
    return Modes(usual, unusual)


def give(worktree: Path, names: Sequence[str], modes: Modes) -> list[str]:
    """Give these files and their folders the permissions that they had; notes on who is not ours.

    Raises:
        OSError: the disk cannot.
    """
    notes: list[str] = []
    # Folders after what is in them: they may be closed.
    for name, mode in sorted(_looked_at(worktree, names).items(), reverse=True):
        wanted = modes.of(name, _kind(mode))
        if wanted is None or wanted == stat.S_IMODE(mode) or _kind(mode) == _NONE:
            continue
        try:
            (worktree / name).chmod(wanted)
        except PermissionError:
            notes.append(f"{name} has other permissions than it had: it is somebody else's")
    return notes


def _looked_at(worktree: Path, names: Sequence[str]) -> dict[str, int]:
    """The `st_mode` of those that are there, and of the folders that they are in."""
    folders = {name.rpartition("/")[0] for name in names} - {""}
    for folder in list(folders):
        folders.update(str(parent) for parent in PurePosixPath(folder).parents)
    all_names = [*names, *(folders - {"."})]
    root = f"{worktree}/"
    try:
        # No call of ours for each, no Path: of fifty thousand they cost more than the looks.
        return {name: os.lstat(root + name).st_mode for name in all_names}
    except OSError:
        return {name: mode for name in all_names if (mode := _mode_at(root + name))}


def _mode_at(path: str) -> int:
    try:
        # As above.
        return os.lstat(path).st_mode
    except OSError:
        return 0


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "folder"
    if not stat.S_ISREG(mode):
        return _NONE
    return "program" if mode & stat.S_IXUSR else "plain"

"""Who may read and write the files of a worktree: git keeps only which of them are programs."""

import os
import stat
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from symposium.taskspaces.snapshots.subject import Subject


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


def modes_of(worktree: Path, names: Iterable[str]) -> Modes:
    """The permissions of these files and of the folders that they are in."""
    by_kind: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for name, kind, mode in _looked_at(worktree, names):
        by_kind[kind][name] = mode
    usual = {kind: Counter(found.values()).most_common(1)[0][0] for kind, found in by_kind.items()}
    unusual = {
        name: mode
        for kind, found in by_kind.items()
        for name, mode in found.items()
        if mode != usual[kind]
    }
    return Modes(usual, unusual)


def give(worktree: Path, names: Iterable[str], modes: Modes) -> list[str]:
    """Give these files and their folders the permissions that they had; notes on who is not ours.

    Raises:
        OSError: the disk cannot.
    """
    notes: list[str] = []
    # Folders after what is in them: they may be closed.
    for name, kind, mode in sorted(_looked_at(worktree, names), reverse=True):
        wanted = modes.of(name, kind)
        if wanted is not None and wanted != mode:
            try:
                (worktree / name).chmod(wanted)
            except PermissionError:
                notes.append(f"{name} has other permissions than it had: it is somebody else's")
    return notes


def _looked_at(worktree: Path, names: Iterable[str]) -> Iterator[tuple[str, str, int]]:
    root, seen = str(worktree), set[str]()
    for name in names:
        yield from _one(root, name)
        folder = name.rpartition("/")[0]
        while folder and folder not in seen:
            seen.add(folder)
            yield from _one(root, folder)
            folder = folder.rpartition("/")[0]


def _one(root: str, name: str) -> Iterator[tuple[str, str, int]]:
    try:
        # No Path: fifty thousand of them cost more than the looks.
        state = os.lstat(f"{root}/{name}")
    except OSError:
        return
    mode = stat.S_IMODE(state.st_mode)
    if stat.S_ISDIR(state.st_mode):
        yield name, "folder", mode
    elif stat.S_ISREG(state.st_mode):
        yield name, "program" if mode & stat.S_IXUSR else "plain", mode

"""Keeps the files of a directory as they are, as a git tree."""

import fnmatch
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from symposium.taskspaces.failures import TaskspaceError
from symposium.taskspaces.git.program import Done, Git
from symposium.taskspaces.snapshots.gitdir import admin_directory
from symposium.taskspaces.snapshots.state import Nested
from symposium.taskspaces.snapshots.subject import Subject

_LINK: Final = b"160000"
_NO_COMMIT: Final = "does not have a commit checked out"
_LONG: Final = 600.0
"""Seconds that git may take to read what is new: a file may have gigabytes."""

_DEEPEST: Final = 5
"""Repositories inside repositories that are looked into."""


@dataclass(frozen=True, slots=True)
class KeptTree:
    """The files of a directory.

    Attributes:
        empty: directories that hold nothing, which git does not keep.
        skipped: what could not be kept, and why.
    """

    tree: str
    empty: tuple[str, ...]
    nested: tuple[Nested, ...]
    skipped: tuple[str, ...]


async def keep_tree(
    subject: Subject, directory: Path, index: str, before: KeptTree | None = None, deep: int = 0
) -> KeptTree:
    """Keep the files of a directory: tracked or not, ignored ones only once they were precious.

    Args:
        subject: whose clone takes the objects.
        directory: what is kept.
        index: the name of the index that remembers it.
        before: what that index gave last, to be given again if nothing has changed.
        deep: how many repositories are around it.

    Raises:
        TaskspaceError: git cannot, as on a full disk.
    """
    git = subject.looking_at(directory, index)
    old = index_signature(subject, index)
    done = await _add(git)
    skipped = [line for line in done.said.splitlines() if line.startswith("error:")]
    if done.code and not skipped:
        raise TaskspaceError(f"{directory} cannot be kept: {done.said[-500:]}", "")
    if before and not before.nested and not skipped and old == index_signature(subject, index):
        return before
    tree = await git.text("write-tree")
    others = (await git.ask("ls-files", "-o", "--directory", "--exclude-standard", "-z")).names
    folders = [name.rstrip("/") for name in others if name.endswith("/")]
    empty, repositories = _inside(directory, folders)
    nested: list[Nested] = []
    for name in sorted({*repositories, *await _links(git)}):
        if deep < _DEEPEST and _is_repository(directory / name):
            nested += await _keep_nested(subject, directory, name, deep)
    # Git takes in no repository without a commit; we do.
    told = tuple(line for line in skipped if _NO_COMMIT not in line)
    return KeptTree(tree, tuple(empty), tuple(nested), told)


def index_signature(subject: Subject, index: str) -> tuple[int, int, int] | None:
    """The size, time and inode of an index of ours; None before there is one."""
    try:
        state = (subject.shadow / index).lstat()
    except OSError:
        return None
    return state.st_size, state.st_mtime_ns, state.st_ino


async def _add(git: Git) -> Done:
    """Take all changes in; a repository inside that has become none is a folder like any other."""
    words = ("add", "-A", "--ignore-errors", "--", ".")
    done = await git.run(*words, patience=_LONG)
    if done.code and (links := await _links(git)):
        listed = b"".join(os.fsencode(name) + b"\0" for name in links)
        await git.run("update-index", "--force-remove", "-z", "--stdin", stdin=listed)
        done = await git.run(*words, patience=_LONG)
    return done


def _inside(directory: Path, folders: list[str]) -> tuple[list[str], list[str]]:
    """Of these folders and those in them: which hold nothing at all, and which are repositories."""
    empty: list[str] = []
    repositories: list[str] = []
    for name in folders:
        for place, inner, files in os.walk(directory / name):
            here = os.path.relpath(place, directory)
            if ".git" in inner or ".git" in files:
                # What is in there is for who looks into it.
                repositories.append(here)
                inner.clear()
            elif not inner and not files:
                empty.append(here)
    return empty, repositories


def _is_repository(directory: Path) -> bool:
    return os.path.lexists(directory / ".git")


async def _links(git: Git) -> set[str]:
    listed = (await git.ask("ls-files", "-s", "-z")).out
    if _LINK not in listed:
        return set()
    entries = [entry.partition(b"\t") for entry in listed.split(b"\0") if entry.startswith(_LINK)]
    return {os.fsdecode(name) for _, _, name in entries}


async def _keep_nested(subject: Subject, directory: Path, name: str, deep: int) -> list[Nested]:
    inside = directory / name
    index = "nested-" + sha256(os.fsencode(inside)).hexdigest()[:20]
    kept = await keep_tree(subject, inside, index, deep=deep + 1)
    gitdir = None
    link = _text_of(inside / ".git")
    history = inside / ".git" if link is None else submodule_directory(subject, link)
    if history is not None and history.is_dir() and not links_to(subject, history):
        git = subject.looking_at(history, index + ".git")
        await git.ask("add", "-A", "-f", "--ignore-errors", "--", ".")
        gitdir = await git.text("write-tree")
    deeper = [
        Nested(f"{name}/{inner.path}", inner.tree, inner.gitdir, inner.link)
        for inner in kept.nested
    ]
    return [Nested(name, kept.tree, gitdir, link), *deeper]


def submodule_directory(subject: Subject, link: str) -> Path | None:
    """Where a submodule of this worktree has its history, of what its `.git` says.

    It lies in what the clone keeps for the worktree alone, and goes with that. None for any other
    place: what is elsewhere is not ours to keep, and an agent may have written anything there.
    """
    place = link.strip().removeprefix("gitdir:").strip().replace(os.sep, "/")
    _, found, name = place.rpartition("/worktrees/")
    _, is_module, name = name.partition("/modules/")
    if not found or not is_module or ".." in name.split("/"):
        return None
    return admin_directory(subject.worktree, subject.common) / "modules" / name


def links_to(subject: Subject, directory: Path) -> list[Path]:
    """The symbolic links on the way from the clone's own directory to one in it."""
    places = (directory, *directory.parents)
    return [
        place
        for place in places
        if place.is_relative_to(subject.common) and place != subject.common and place.is_symlink()
    ]


def _text_of(path: Path) -> str | None:
    """What a file says; None for a directory."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None


def precious_files(directory: Path, patterns: tuple[str, ...]) -> Iterator[str]:
    """Files in the two upper levels whose name or path matches, ignored or not."""
    if not patterns:
        return
    for name in _upper_levels(directory):
        last = name.rpartition("/")[2]
        if any(fnmatch.fnmatch(last, each) or fnmatch.fnmatch(name, each) for each in patterns):
            yield name


def _upper_levels(directory: Path) -> Iterator[str]:
    folders = [""]
    for _ in range(2):
        deeper: list[str] = []
        for folder in folders:
            try:
                entries = sorted(os.scandir(directory / folder), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                name = f"{folder}/{entry.name}" if folder else entry.name
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != ".git":
                        deeper.append(name)
                elif entry.is_file(follow_symlinks=False):
                    yield name
        folders = deeper


async def keep_precious(subject: Subject, index: str) -> dict[str, int]:
    """Let ignored files that are precious be kept from now on; the mode of each."""
    modes: dict[str, int] = {}
    for name in precious_files(subject.worktree, subject.precious):
        try:
            modes[name] = stat.S_IMODE((subject.worktree / name).lstat().st_mode)
        except OSError:
            continue
    if modes:
        git = subject.looking_at(subject.worktree, index)
        listed = b"".join(os.fsencode(name) + b"\0" for name in modes)
        await git.run("update-index", "--add", "-z", "--stdin", stdin=listed)
    return modes

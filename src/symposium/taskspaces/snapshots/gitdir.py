"""The private files of a worktree: its HEAD, its index, what a merge or rebase has left there."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_FILES: Final = frozenset(
    {
        *("HEAD", "index", "ORIG_HEAD", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "MERGE_RR"),
        *("CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "AUTO_MERGE", "SQUASH_MSG"),
        *("MERGE_AUTOSTASH", "config.worktree", "locked"),
    }
)
_PREFIXES: Final = ("BISECT_", "sharedindex.")
_FOLDERS: Final = ("rebase-merge", "rebase-apply", "sequencer", "refs/bisect", "info", "logs")

_OBJECT: Final = re.compile(rb"\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b")
_SMALL: Final = 4096
_FOLLOWS: Final = re.compile(r"(remote|merge)\s*=\s*(\S+)")

_RACY: Final = 20_000_000
"""Nanoseconds, more than a tick of a file system's clock."""

Fingerprint = tuple[int, int, int, int]
"""Size, times, and inode of a file: the same means unchanged."""

Signature = tuple[tuple[str, Fingerprint], ...]
"""Each file and its fingerprint."""


def admin_directory(worktree: Path, common: Path) -> Path:
    """Where the clone keeps what is private to a worktree, whether or not it is still there.

    A worktree's `.git` says so; when it is gone or lies, the clone's own list does.
    """
    found = _said_by(worktree, common)
    if found is not None:
        return found
    if worktree.resolve() == common.parent.resolve() and common.name == ".git":
        return common
    for admin in _admins(common):
        try:
            back = (admin / "gitdir").read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            continue
        if Path(back.strip()).parent == worktree:
            return admin
    return common / "worktrees" / worktree.name


def _said_by(worktree: Path, common: Path) -> Path | None:
    try:
        text = (worktree / ".git").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    path = Path(text.removeprefix("gitdir:").strip())
    admin = path if path.is_absolute() else (worktree / path).resolve()
    # Another place than the clone's own is what an agent wrote there.
    return admin if admin.parent == common / "worktrees" else None


def damage(worktree: Path, common: Path, admin: Path) -> str:
    """What no longer ties a worktree to its clone; empty where all of it is as git makes it."""
    found: list[str] = []
    if admin != common and _said_by(worktree, common) != admin:
        found.append(_kind_and_text(worktree / ".git"))
    head = _kind_and_text(common / "HEAD")
    if not is_head(head):
        found.append(head)
    if not (common / "config").is_file():
        found.append("no config")
    return "\n".join(found)


def is_head(text: str) -> bool:
    """Whether git can read a HEAD that says this."""
    return text.startswith("ref: refs/") or len(text.strip()) in {40, 64}


def _kind_and_text(path: Path) -> str:
    if path.is_symlink():
        return f"link {path.readlink()}"
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        return type(error).__name__


def _admins(common: Path) -> list[Path]:
    try:
        return sorted((common / "worktrees").iterdir())
    except OSError:
        return []


def private_files(admin: Path) -> Iterator[str]:
    """The names of those that are there; links are none."""
    try:
        entries = sorted(os.scandir(admin), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        is_one = entry.name in _FILES or entry.name.startswith(_PREFIXES)
        if is_one and not entry.name.endswith(".lock") and entry.is_file(follow_symlinks=False):
            yield entry.name
    for folder in _FOLDERS:
        for path in sorted((admin / folder).rglob("*")):
            name = str(path.relative_to(admin))
            # The main checkout's reflogs of branches belong to the whole clone.
            is_shared = folder in {"logs", "info"} and name not in {
                "logs/HEAD",
                "info/sparse-checkout",
            }
            if not is_shared and path.is_file() and not path.is_symlink():
                yield name


def signature(admin: Path, names: list[str]) -> Signature:
    """Of these files, to see cheaply whether one has changed."""
    found: list[tuple[str, Fingerprint]] = []
    for name in names:
        try:
            state = (admin / name).lstat()
        except OSError:
            continue
        found.append((name, fingerprint(state)))
    return tuple(found)


def fingerprint(state: os.stat_result) -> Fingerprint:
    """Of a file that is read next; of one that has just changed, another each time.

    Its mtime alone is what a program says of it. Two changes within one tick of the clock have the
    same times.
    """
    now, changed_at = time.time_ns(), state.st_ctime_ns
    stamp = now if now - changed_at < _RACY else changed_at
    return state.st_size, state.st_mtime_ns, stamp, state.st_ino


def objects_named(admin: Path, names: list[str]) -> set[str]:
    """The ids that small ones of them hold: commits that must stay while they do."""
    found: set[str] = set()
    for name in names:
        path = admin / name
        if name == "index" or name.startswith("logs/"):
            continue
        try:
            if path.stat().st_size <= _SMALL:
                found |= {id_.decode() for id_ in _OBJECT.findall(path.read_bytes())}
        except OSError:
            continue
    return found


def submodule_directory(worktree: Path, common: Path, link: str) -> Path | None:
    """Where a submodule of this worktree has its history, of what its `.git` says.

    It is in what the clone keeps for the worktree alone, and goes with that. None for any other
    place: an agent may have written anything there.
    """
    place = link.strip().removeprefix("gitdir:").strip().replace(os.sep, "/")
    _, found, name = place.rpartition("/worktrees/")
    _, is_module, name = name.partition("/modules/")
    if not found or not is_module or ".." in name.split("/"):
        return None
    return admin_directory(worktree, common) / "modules" / name


def upstream_of(common: Path, head: str) -> dict[str, str]:
    """What a branch follows, `remote` and `merge`, of what the clone's configuration says."""
    wanted = f'[branch "{head.removeprefix("refs/heads/")}"]'
    found: dict[str, str] = {}
    is_here = False
    try:
        text = (common / "config").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return found
    for line in text.splitlines():
        words = line.strip()
        if words.startswith("["):
            is_here = words == wanted
        elif is_here and (match := _FOLLOWS.fullmatch(words)):
            found[match[1]] = match[2]
    return found

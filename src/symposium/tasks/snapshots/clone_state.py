"""The private files of a worktree and the refs of its clone, read without git."""

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from symposium.config.git import OWN_REFS, git_of
from symposium.tasks.snapshots.snapshot_values import Stashed

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
"""Size, times, and inode of a file; equal fingerprints mean an unchanged file."""

Signature = tuple[tuple[str, Fingerprint], ...]
"""Each file and its fingerprint."""


def admin_directory(worktree: Path, common: Path) -> Path:
    """The clone's directory for the private files of a worktree, existing or not.

    The worktree's `.git` names it; if that is missing or wrong, the clone's own list does.
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
    # Do not trust a path outside of the clone, because an agent can write this file.
    return admin if admin.parent == common / "worktrees" else None


def damage(worktree: Path, common: Path, admin: Path) -> str:
    """Broken links between a worktree and its clone; empty if all are intact."""
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
    """Whether git can read a HEAD with this content."""
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
    """The names of existing files, without links."""
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
    """Fingerprints of these files, to detect changes without reading them."""
    found: list[tuple[str, Fingerprint]] = []
    for name in names:
        try:
            state = (admin / name).lstat()
        except OSError:
            continue
        found.append((name, fingerprint(state)))
    return tuple(found)


def fingerprint(state: os.stat_result) -> Fingerprint:
    """Fingerprint of a file before it is read; unique for a file that has just changed.

    It includes the ctime because programs can set the mtime. Two changes within one clock tick have
    equal times, so the current time replaces a recent ctime.
    """
    now, changed_at = time.time_ns(), state.st_ctime_ns
    stamp = now if now - changed_at < _RACY else changed_at
    return state.st_size, state.st_mtime_ns, stamp, state.st_ino


def objects_named(admin: Path, names: list[str]) -> set[str]:
    """Object ids in small files, such as `ORIG_HEAD`, whose commits must be kept."""
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
    """Git directory of a submodule, as its `.git` file names it.

    It is in the clone's directory for this worktree, and git removes it with the worktree. None for
    any other path, because an agent can write this file.
    """
    place = link.strip().removeprefix("gitdir:").strip().replace(os.sep, "/")
    _, found, name = place.rpartition("/worktrees/")
    _, is_module, name = name.partition("/modules/")
    if not found or not is_module or ".." in name.split("/"):
        return None
    return admin_directory(worktree, common) / "modules" / name


def upstream_of(common: Path, head: str) -> dict[str, str]:
    """Upstream of a branch, `remote` and `merge`, from the clone's configuration."""
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


STASH: Final = "refs/stash"
HEADS: Final = "refs/heads/"
LINK: Final = "ref: "

_LINE: Final = re.compile(rb"[0-9a-f]+ ([0-9a-f]+) [^\t]*\t(.*)")
_ID: Final = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PACKED: Final = re.compile(rb"([0-9a-f]{40}(?:[0-9a-f]{24})?) (refs/[^\n]+)")
_OF_A_WORKTREE: Final = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")
_DEEPEST: Final = 5


class Refs:
    """Read the refs of one clone; reread packed refs only after a change."""

    def __init__(self, common: Path) -> None:
        self._common = common
        self._packed: dict[str, str] = {}
        self._packed_as: Fingerprint | None = None

    async def read(self) -> dict[str, str]:
        """Every ref except Symposium's: its object, or `ref: ` and the target of a symbolic ref."""
        if (self._common / "reftable").is_dir():
            return await self._ask_git()
        loose = dict(_loose(self._common))
        # Read packed refs last, because git writes them before it removes loose refs.
        found = {**self._read_packed(), **loose}
        return {
            name: value
            for name, value in sorted(found.items())
            if not name.startswith((OWN_REFS, *_OF_A_WORKTREE))
        }

    def _read_packed(self) -> dict[str, str]:
        path = self._common / "packed-refs"
        try:
            found = fingerprint(path.stat())
            if found != self._packed_as:
                self._packed, self._packed_as = dict(packed_refs(path.read_bytes())), found
        except OSError:
            self._packed, self._packed_as = {}, None
        return self._packed

    async def _ask_git(self) -> dict[str, str]:
        git = git_of(self._common)
        done = await git.run("for-each-ref", "--format=%(objectname) %(refname)")
        lines = (line.partition(" ") for line in done.text.splitlines())
        return {name: id_ for id_, _, name in lines if not name.startswith(OWN_REFS)}


def packed_refs(text: bytes) -> Iterator[tuple[str, str]]:
    """Parse the refs of a `packed-refs` file; skip invalid lines."""
    for line in text.splitlines():
        if match := _PACKED.fullmatch(line):
            yield os.fsdecode(match[2]), match[1].decode()


def _loose(common: Path) -> Iterator[tuple[str, str]]:
    for place, _, files in os.walk(common / "refs"):
        for name in files:
            if name.endswith(".lock"):
                continue
            path = Path(place) / name
            try:
                text = path.read_bytes().strip()
            except OSError:
                continue
            if _ID.fullmatch(text):
                yield str(path.relative_to(common)), text.decode()
            elif text.startswith(b"ref:"):
                target = os.fsdecode(text.removeprefix(b"ref:").strip())
                yield str(path.relative_to(common)), f"{LINK}{target}"


def resolved(refs: Mapping[str, str], head: str) -> str:
    """Resolve the text of a HEAD to an object id; empty if there is no object."""
    for _ in range(_DEEPEST):
        if not head.startswith("ref:"):
            break
        head = refs.get(head.removeprefix("ref:").strip(), "")
    return head if _ID.fullmatch(head.encode(errors="replace")) else ""


def commit_inside(git_directory: Path) -> str | None:
    """The commit of a repository's HEAD, read without git; None if it has no commit."""
    try:
        head = (git_directory / "HEAD").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    text = head.strip()
    if not text.startswith("ref:"):
        return resolved({}, text) or None
    name = text.removeprefix("ref:").strip()
    if ".." in name.split("/"):
        return None
    found: dict[str, str] = {}
    with suppress(OSError):
        found |= dict(packed_refs((git_directory / "packed-refs").read_bytes()))
    with suppress(OSError):
        found[name] = os.fsdecode((git_directory / name).read_bytes()).strip()
    return resolved(found, text) or None


def elsewhere(common: Path, admin: Path) -> set[str]:
    """The branches that other worktrees of the clone have checked out."""
    found: set[str] = set()
    folders = [common]
    with suppress(OSError):
        folders += list((common / "worktrees").iterdir())
    for folder in folders:
        if folder == admin:
            continue
        try:
            text = (folder / "HEAD").read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            continue
        if text.startswith("ref:"):
            found.add(text.removeprefix("ref:").strip())
    return found


def stashed(common: Path, top: str | None) -> tuple[Stashed, ...]:
    """The entries of the stash, newest last; `top` is the newest, in case its log is missing."""
    found = logged(common)
    if top and not any(entry.commit == top for entry in found):
        found.append(Stashed(top, "stash"))
    return tuple(found) if top else ()


def logged(common: Path) -> list[Stashed]:
    """Entries of the stash's log, newest last."""
    try:
        lines = (common / "logs" / "refs" / "stash").read_bytes().splitlines()
    except OSError:
        lines = []
    return [
        Stashed(match[1].decode(), os.fsdecode(match[2]))
        for match in map(_LINE.fullmatch, lines)
        if match
    ]

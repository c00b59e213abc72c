"""The refs of a clone, read without git: also those of a clone that git no longer reads."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from symposium.git.program import Git
from symposium.taskspaces.snapshots.gitdir import Fingerprint, fingerprint
from symposium.taskspaces.snapshots.state import Stashed

OURS: Final = "refs/symposium/"
STASH: Final = "refs/stash"
HEADS: Final = "refs/heads/"
LINK: Final = "ref: "

_LINE: Final = re.compile(rb"[0-9a-f]+ ([0-9a-f]+) [^\t]*\t(.*)")
_ID: Final = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PACKED: Final = re.compile(rb"([0-9a-f]{40}(?:[0-9a-f]{24})?) (refs/[^\n]+)")
_OF_A_WORKTREE: Final = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")
_DEEPEST: Final = 5


class Refs:
    """Reads the refs of one clone; what is packed is read again only when it has changed."""

    def __init__(self, common: Path) -> None:
        self._common = common
        self._packed: dict[str, str] = {}
        self._packed_as: Fingerprint | None = None

    async def read(self) -> dict[str, str]:
        """Every ref but Symposium's: its object, or `ref: ` and the ref that it stands for."""
        if (self._common / "reftable").is_dir():
            return await self._ask_git()
        loose = dict(_loose(self._common))
        # Then the packed ones: who packs refs writes these first, and then removes the others.
        found = {**self._read_packed(), **loose}
        return {
            name: value
            for name, value in sorted(found.items())
            if not name.startswith((OURS, *_OF_A_WORKTREE))
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
        git = Git(self._common, {"GIT_DIR": str(self._common)})
        done = await git.run("for-each-ref", "--format=%(objectname) %(refname)")
        lines = (line.partition(" ") for line in done.text.splitlines())
        return {name: id_ for id_, _, name in lines if not name.startswith(OURS)}


def packed_refs(text: bytes) -> Iterator[tuple[str, str]]:
    """The refs that a `packed-refs` lists; lines that say nothing are passed over."""
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
    """The object that the text of a HEAD means; empty where it means none."""
    for _ in range(_DEEPEST):
        if not head.startswith("ref:"):
            break
        head = refs.get(head.removeprefix("ref:").strip(), "")
    return head if _ID.fullmatch(head.encode(errors="replace")) else ""


def commit_inside(git_directory: Path) -> str | None:
    """The commit of a repository's HEAD, of its files alone; None where there is none."""
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
    """The entries of the stash, newest last; `top` is the newest, should its log be lost."""
    found = logged(common)
    if top and not any(entry.commit == top for entry in found):
        found.append(Stashed(top, "stash"))
    return tuple(found) if top else ()


def logged(common: Path) -> list[Stashed]:
    """What the stash's log lists, newest last."""
    try:
        lines = (common / "logs" / "refs" / "stash").read_bytes().splitlines()
    except OSError:
        lines = []
    return [
        Stashed(match[1].decode(), os.fsdecode(match[2]))
        for match in map(_LINE.fullmatch, lines)
        if match
    ]

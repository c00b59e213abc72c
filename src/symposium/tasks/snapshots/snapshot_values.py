"""A worktree that is snapshotted, and the contents of a snapshot."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from localio.files import make_private_directory
from localio.git import Git
from symposium.config.git import git_of
from symposium.tasks.snapshots.store import directory_of

REFS: Final = "refs/symposium/snap"

_PRIVATE_FOLDER: Final = 0o700
_DISPLACED: Final = "displaced"
_OLD: Final = ("objects", "refs", "info")


@dataclass(frozen=True, slots=True)
class SnapshotTarget:
    """A worktree that is snapshotted.

    Attributes:
        id: part of the names of its refs in the store.
        common: the clone's git directory.
        shadow: Symposium's own folder for this worktree, created by `prepare`.
        precious: patterns of ignored files that are saved at any size.
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
        """Directory of the store of its snapshots."""
        return directory_of(self.shadow.parent.parent, self.common)

    def clone(self) -> Git:
        """Git in the clone."""
        return git_of(self.common)

    def displaced(self, moment: str) -> Path:
        """Directory for files that block a restore."""
        return self.shadow / _DISPLACED / moment

    def prepare(self) -> None:
        """Create the shadow folder; remove unused files of an older version from it.

        Raises:
            OSError: the folder cannot be created or changed.
        """
        make_private_directory(self.shadow, is_synced=True)
        for folder in (self.shadow.parent, self.shadow):
            folder.chmod(_PRIVATE_FOLDER)
        if (self.shadow / "config").exists():
            self._tidy()

    def _tidy(self) -> None:
        for path in list(self.shadow.iterdir()):
            if path.name in _OLD and path.is_dir():
                for place, folders, files in os.walk(path, topdown=False):
                    for name in files:
                        (Path(place) / name).unlink()
                    for name in folders:
                        (Path(place) / name).rmdir()
                path.rmdir()
            elif path.is_file() and path.suffix != ".cache":
                path.unlink()


_TITLE: Final = "symposium snapshot"


@dataclass(frozen=True, slots=True)
class Nested:
    """A repository inside the worktree.

    Attributes:
        tree: tree of its files.
        gitdir: tree of its `.git` directory, or of the git directory of a submodule.
        link: content of its `.git` file, in a submodule or a worktree; else None.
    """

    path: str
    tree: str
    gitdir: str | None = None
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Stashed:
    """Entry of the stash."""

    commit: str
    message: str


@dataclass(frozen=True, slots=True)
class Details:
    """Metadata of a snapshot in addition to its trees.

    Attributes:
        branches: commits of the clone's branches, by full ref; only in older snapshots.
        stash: entries of the stash, newest last.
        upstream: upstream of the branch: `remote` and `merge`.
        modes: permissions that differ from `usual`, by path; only in older snapshots.
        skipped: files that could not be saved, with the reason.
        usual: the most frequent permissions, by kind; only in older snapshots.
        links: the paths of each file with several hard links.
        is_whole: whether the tree `files` contains everything, as since version 2. Older snapshots
            need `branches`, `empty`, `modes`, and `usual` in addition.
    """

    branches: dict[str, str] = field(default_factory=dict[str, str])
    stash: tuple[Stashed, ...] = ()
    empty: tuple[str, ...] = ()
    nested: tuple[Nested, ...] = ()
    upstream: dict[str, str] = field(default_factory=dict[str, str])
    modes: dict[str, int] = field(default_factory=dict[str, int])
    skipped: tuple[str, ...] = ()
    usual: dict[str, int] = field(default_factory=dict[str, int])
    links: tuple[tuple[str, ...], ...] = ()
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Saved state of a taskspace.

    Attributes:
        ref: full name of its ref; sorts by time.
        commit: commit with all trees of the snapshot.
        work: commit with the worktree's files as tree and its HEAD as parent.
        key: equal for two states without changes between them.
        at: seconds since 1970.
        head: the branch's full ref; empty when detached.
        tip: the commit of HEAD; empty before the first.
        called_on: the ref of the snapshot before a tool call, if the call had already changed files
            when this snapshot was taken; else empty.
        tree: tree of the files that git does not ignore; empty in snapshots of older versions.
    """

    ref: str
    commit: str
    work: str
    key: str
    at: float
    reason: str
    head: str
    tip: str
    called_on: str = ""
    tree: str = ""


def message_of(snapshot: Snapshot) -> str:
    """Message of a snapshot's commit; ASCII, because msgspec rejects names that are not UTF-8."""
    fields = {**msgspec.to_builtins(snapshot), "ref": "", "commit": ""}
    return f"{_TITLE}\n\n{json.dumps(fields, separators=(',', ':'))}\n"


def snapshot_of(ref: str, commit: str, message: str) -> Snapshot | None:
    """Parse the message of a snapshot's commit; None for any other commit."""
    title, _, encoded = message.partition("\n")
    if title != _TITLE:
        return None
    try:
        fields = msgspec.convert(json.loads(encoded), dict[str, str | float])
        return msgspec.convert({**fields, "ref": ref, "commit": commit}, Snapshot)
    except (ValueError, msgspec.MsgspecError):
        return None


def encode_details(details: Details) -> bytes:
    """Serialize to JSON; names that are not valid UTF-8 are preserved."""
    return msgspec.json.encode(_mapped(msgspec.to_builtins(details), _to_text))


def decode_details(text: bytes) -> Details:
    """Parse serialized details.

    Raises:
        msgspec.MsgspecError: the text has another format.
    """
    return msgspec.convert(_mapped(msgspec.json.decode(text), _to_name), Details)


def _to_text(name: str) -> str:
    return os.fsencode(name).decode("latin-1")


def _to_name(text: str) -> str:
    return os.fsdecode(text.encode("latin-1"))


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case dict():
            fields = cast("dict[str, Any]", value)
            return {change(key): _mapped(each, change) for key, each in fields.items()}
        case list() | tuple():
            return [_mapped(each, change) for each in cast("list[Any]", value)]
        case _:
            return value

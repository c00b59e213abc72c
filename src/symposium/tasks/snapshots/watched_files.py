"""Keep a mirror of a folder current, from kernel events or by a full scan."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from localio.files import write_whole
from symposium.tasks.snapshots.clone_state import admin_directory
from symposium.tasks.snapshots.file_contents import SnapshotReading
from symposium.tasks.snapshots.file_metadata import Mirror, decode, encode
from symposium.tasks.snapshots.index import seeds
from symposium.tasks.snapshots.inotify import Watch, WatchError
from symposium.tasks.snapshots.scan import Scan
from symposium.tasks.snapshots.snapshot_values import SnapshotTarget
from symposium.tasks.snapshots.store import Store

_SEEDED: Final = 500
"""Number of files above which ids are read from git's index first."""

_UNKNOWN: Final = b"\0"
"""Differs from the content of every exclude file, so the rules count as changed."""

_NO_INDEX: Final = "no-index"
_HERE: Final = "./"
"""Prefix of each path, because git interprets a colon at the start of a path."""

_log = logging.getLogger(__name__)


class WatchedFiles:
    """Mirror of a worktree's files, or of the git directories of its submodules.

    Args:
        root: the folder.
        cache: file that saves the mirror for the next start.
        has_rules: whether git's ignore rules apply.
    """

    def __init__(self, root: Path, cache: Path, *, has_rules: bool) -> None:
        self._cache = cache
        self._has_rules = has_rules
        self._excluded: bytes | None = None
        self._watch: Watch | None = None
        self._is_watchable = True
        self._root: tuple[int, int] | None = None
        self._saved = 0
        self.mirror = self._known(root)
        self._is_cached = bool(self.mirror.top.entries)

    def save(self) -> None:
        """Save the mirror, unless it was never compared with the files."""
        if self.mirror.is_seen:
            self._save()

    def _save(self) -> None:
        text = encode(self.mirror)
        # Each write waits for the disk, so skip writes of an equal state.
        if hash(text) != self._saved:
            write_whole(self._cache, text)
            self._saved = hash(text)

    def _known(self, root: Path) -> Mirror:
        """The last saved mirror of a folder."""
        try:
            text = self._cache.read_bytes()
        except OSError:
            text = b""
        self._saved = hash(text)
        return decode(root, text)

    @property
    def is_watched(self) -> bool:
        """Whether the kernel reports changes, so that the next update reads only some folders."""
        return self._watch is not None

    async def update(self, subject: SnapshotTarget, store: Store, *, is_whole: bool) -> None:
        """Update the mirror with every change made before this call.

        Args:
            subject: the worktree.
            store: receives new content.
            is_whole: whether to scan every file, regardless of kernel events.

        Raises:
            TaskspaceError: git fails to list ignored files.
            OSError: the store cannot be written.
        """
        try:
            await self._update_watched(subject, store, is_whole=is_whole)
        except BaseException:
            self._forget()
            raise

    async def _update_watched(
        self, subject: SnapshotTarget, store: Store, *, is_whole: bool
    ) -> None:
        if self._watch is not None and _identity(self.mirror.root) != self._root:
            # The folder was replaced, but the kernel still watches the previous one.
            self.end_watch()
        if self._watch is None and self._is_watchable:
            self._start()
        try:
            await self._update(subject, store, is_whole=is_whole)
        except WatchError as error:
            _log.warning("reading every file at each snapshot of %s: %s", self.mirror.root, error)
            self._is_watchable = False
            self.end_watch()
            await self._update(subject, store, is_whole=True)

    def end_watch(self) -> None:
        """Stop the kernel watches, which takes some milliseconds."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def _forget(self) -> None:
        """Reload the mirror from the cache after a failed update.

        The kernel reports each change once, so the failed update has lost its changes. A thread of
        a canceled scan may still change the previous mirror.
        """
        self.end_watch()
        # Ignore rules may have changed since the cache was written.
        self._excluded = _UNKNOWN
        self.mirror = self._known(self.mirror.root)
        self._is_cached = bool(self.mirror.top.entries)

    def _start(self) -> None:
        self._root = _identity(self.mirror.root)
        try:
            self._watch = Watch()
        except WatchError as error:
            self._is_watchable = False
            _log.warning("reading every file at each snapshot of %s: %s", self.mirror.root, error)
        # The mirror is older than the watch, so the next update scans every file.
        self.mirror.is_seen = False

    async def _update(self, subject: SnapshotTarget, store: Store, *, is_whole: bool) -> None:
        noticed = self._watch.read() if self._watch is not None else None
        scan = Scan(self.mirror, self._watch)
        if self._has_rules:
            excluded = store.copy_excludes()
            scan.has_new_rules = self._excluded is not None and excluded != self._excluded
            self._excluded = excluded
        was_seen = self.mirror.is_seen
        if noticed is None or not noticed.is_whole or is_whole or not was_seen:
            await asyncio.to_thread(scan.walk)
        elif noticed.names or self.mirror.linked or scan.has_new_rules:
            await asyncio.to_thread(scan.visit, noticed)
            if scan.has_new_links:
                # The kernel sends no event to a folder for a new hard link in another folder.
                await asyncio.to_thread(scan.walk)
        else:
            return
        await self._apply_ignore_rules(scan, subject, store)
        await asyncio.to_thread(scan.exclude_large_folders)
        known = {}
        if len(scan.pending) > _SEEDED and self._has_rules:
            known = await seeds(subject, store)
        reading = SnapshotReading(self.mirror, store.objects, scan.bounds, subject.precious)
        for each in await asyncio.to_thread(reading.read, scan.pending, known):
            scan.drop(each.folder, each.folder.path, each.name)
        if not was_seen and self.mirror.is_seen and (scan.pending or not self._is_cached):
            await asyncio.to_thread(self._save)
            self._is_cached = True

    async def _apply_ignore_rules(self, scan: Scan, subject: SnapshotTarget, store: Store) -> None:
        if not self._has_rules:
            return
        if scan.has_new_rules and self._is_cached:
            scan.recheck_all()
        while scan.unknown:
            asked, scan.unknown = scan.unknown, {}
            ignored: set[str] = set()
            for repository, paths in asked.items():
                ignored |= await _ignored(subject, store, repository, paths)
            await asyncio.to_thread(scan.apply_ignored, asked, frozenset(ignored))

    async def build(self, store: Store, commit_of: Callable[[str], str | None]) -> str:
        """Write the changed trees; return the id of the root's tree.

        Raises:
            OSError: the store cannot be written.
        """
        try:
            return await asyncio.to_thread(_build, self.mirror, store, commit_of)
        except BaseException:
            self._forget()
            raise


def _identity(root: Path) -> tuple[int, int] | None:
    """Device and inode of the folder at a path; None if it does not exist."""
    try:
        state = root.lstat()
    except OSError:
        return None
    return state.st_dev, state.st_ino


def _build(mirror: Mirror, store: Store, commit_of: Callable[[str], str | None]) -> str:
    for folder in mirror.top.below():
        if folder.is_repository:
            folder.changed()
    return mirror.build(store.objects, commit_of)


async def _ignored(
    subject: SnapshotTarget, store: Store, repository: str, paths: list[str]
) -> set[str]:
    """Paths among these that git ignores; a nested repository has its own rules."""
    place = subject.worktree / repository
    if not place.is_dir():
        return set()
    index = subject.shadow / _NO_INDEX
    if not repository:
        index = admin_directory(subject.worktree, subject.common) / "index"
    start = f"{repository}/" if repository else ""
    asked = b"".join(_raw(path.removeprefix(start)) for path in paths)
    said = ""
    for each in dict.fromkeys((index, subject.shadow / _NO_INDEX)):
        git = store.with_work_tree(place, each).at(place)
        done = await git.run("check-ignore", "--no-index", "-z", "--stdin", stdin=asked)
        if done.code == 0:
            # With an index, git compares each name with each tracked file, so check only matches.
            done = await git.run("check-ignore", "-z", "--stdin", stdin=done.out)
        if done.code in {0, 1}:
            return {start + name.removeprefix(_HERE) for name in done.names}
        said = done.said
    _log.warning("%s: cannot list ignored files: %s", place, said)
    return set()


def _raw(path: str) -> bytes:
    return _HERE.encode() + path.encode(errors="surrogateescape") + b"\0"

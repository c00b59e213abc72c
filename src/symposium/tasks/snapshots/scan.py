"""Scan files for changes and update a mirror: all files, or those that the kernel reported.

A scan has four steps. `walk` or `visit` reads folders. `apply_ignored` receives the new names that
git ignores. `exclude_large_folders` leaves out ignored folders above the size limit.
`SnapshotReading.read` writes new and changed files into the store. The caller repeats
`apply_ignored` until no name is new.
"""

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from symposium.tasks.snapshots.exclusions import Bounds, is_rebuilt, may_be_rebuilt
from symposium.tasks.snapshots.file_contents import PendingReads, is_racy, note_xattrs, stamp_of
from symposium.tasks.snapshots.file_metadata import File, Folder, Mirror
from symposium.tasks.snapshots.folder_states import FolderReader, FolderStates
from symposium.tasks.snapshots.inotify import Noticed, Watch

_IGNORE_FILE: Final = ".gitignore"
_GIT: Final = ".git"
_MAX_DELETED: Final = 10_000


@dataclass(slots=True)
class Scan:
    """One scan of the files below a folder.

    Attributes:
        unknown: new names that git has not been asked about, by repository.
        pending: new and changed files to read.
        has_new_links: whether a file has another hard link that the mirror does not contain.
        has_new_rules: whether ignore rules changed, so that git must be asked about every name.
    """

    mirror: Mirror
    watch: Watch | None = None
    bounds: Bounds = field(default_factory=Bounds)
    unknown: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    has_new_rules: bool = False
    has_new_links: bool = False
    pending: list[PendingReads] = field(default_factory=list[PendingReads])
    _waiting: list[tuple[Folder, str, str | None]] = field(
        default_factory=list[tuple[Folder, str, "str | None"]]
    )

    def walk(self) -> None:
        """Scan every file.

        Raises:
            WatchError: there are more folders than can be watched.
        """
        top = self.mirror.top
        self.mirror.linked.clear()
        try:
            state = os.lstat(self.mirror.root)
        except OSError:
            state = None
        if state is None or not stat.S_ISDIR(state.st_mode):
            for name in list(top.entries):
                self.drop(top, "", name)
            self.mirror.unkept.clear()
            return
        self._folder_itself(top, "", state)
        self._walk([(top, "", "")])
        self.mirror.is_seen = True

    def visit(self, noticed: Noticed) -> None:
        """Scan the files that the kernel reported as changed.

        Raises:
            WatchError: there are more folders than can be watched.
        """
        waiting: list[tuple[Folder, str, str | None]] = []
        # A process can write a hard-linked file under a name that is not watched.
        names = {path: set(found) for path, found in noticed.names.items()}
        for path in self.mirror.linked:
            where, _, name = path.rpartition("/")
            names.setdefault(where, set()).add(name)
        for path in sorted(names):
            folder = self.mirror.top.at(path)
            if folder is None or not folder.is_kept:
                continue
            repository = _repository_of(folder)
            for name in names[path]:
                inner = f"{path}/{name}" if path else name
                if inner == _GIT:
                    continue
                if inner in noticed.replaced and isinstance(folder.entries.get(name), Folder):
                    self._unwatch(folder.entries[name])
                self._visit(folder, inner, waiting, repository)
        self._walk(waiting)

    def apply_ignored(self, asked: Mapping[str, Iterable[str]], ignored: frozenset[str]) -> None:
        """Mark new names as ignored or not; all paths are relative to the root.

        Raises:
            WatchError: there are more folders than can be watched.
        """
        for paths in asked.values():
            for path in paths:
                self._mark(path, is_ignored=path in ignored)
        waiting, self._waiting = self._waiting, []
        inside: list[tuple[Folder, str, str | None]] = []
        for folder, path, repository in waiting:
            where = self.mirror.root / path.rpartition("/")[0]
            folder.is_kept = not (folder.is_ignored and is_rebuilt(where, folder.name))
            if folder.parent is not None:
                folder.parent.changed()
            if folder.is_kept:
                inside.append((folder, path, repository))
        self._walk(inside)

    def recheck_all(self) -> None:
        """Queue every name for `apply_ignored` after a change of ignore rules."""
        self.has_new_rules = False
        self.unknown = {}
        self.mirror.deleted.clear()
        for folder in self.mirror.top.below():
            repository = _repository_of(folder)
            if repository is None:
                continue
            path = folder.path
            for name, each in folder.entries.items():
                inner = f"{path}/{name}" if path else name
                if name != _GIT:
                    self.unknown.setdefault(repository, []).append(inner)
                if isinstance(each, Folder) and not each.is_kept:
                    self._waiting.append((each, inner, repository))

    def exclude_large_folders(self) -> None:
        """Skip ignored folders above the size limit."""
        uppermost = {id(top): top for each in self.pending if (top := _ignored_top(each.folder))}
        for top in uppermost.values():
            files = size = 0
            for folder in top.below():
                for each in folder.entries.values():
                    if isinstance(each, File):
                        files, size = files + 1, size + each.size
            reason = self.bounds.exclusion_of_folder(files, size)
            if not reason:
                continue
            path = top.path
            self._unwatch(top)
            for folder in list(top.below()):
                # Clear inner folders, too: `read` skips a file that no folder contains.
                folder.entries.clear()
            top.is_kept = False
            top.changed()
            if top.parent is not None:
                top.parent.changed()
            self._forget_below(path)
            self.mirror.unkept[path] = reason

    def _walk(self, waiting: list[tuple[Folder, str, str | None]]) -> None:
        root = str(self.mirror.root)
        reader = FolderReader()
        while waiting:
            folder, path, repository = waiting.pop()
            if self.watch is not None:
                with suppress(OSError):
                    # Watch before reading, to be notified of files created during the read.
                    self.watch.add(root, path)
            try:
                found = reader.read(f"{root}/{path}")
            except OSError as error:
                if path:
                    self.mirror.unkept[path] = f"cannot be read: {error.strerror or error}"
                continue
            self.mirror.unkept.pop(path, None)
            if path and repository is not None and _GIT in found.names:
                repository = path
            if folder.digest and folder.digest == found.digest:
                for inner in folder.kept_folders():
                    inside = None if inner.name == _GIT else repository
                    waiting.append((inner, f"{path}/{inner.name}" if path else inner.name, inside))
                continue
            for name in folder.entries.keys() - set(found.names):
                self.drop(folder, path, name)
            is_same = self._entries(folder, path, found, waiting, repository)
            folder.digest = found.digest if is_same else 0

    def _entries(
        self,
        folder: Folder,
        path: str,
        found: FolderStates,
        waiting: list[tuple[Folder, str, str | None]],
        repository: str | None,
    ) -> bool:
        """Update the entries of a folder; return whether the mirror already had all of them."""
        start = f"{path}/" if path else ""
        known, is_same = folder.entries, True
        for name, links, mode, stamp in found.states():
            before = known.get(name)
            if (
                links == 1
                and isinstance(before, File)
                and before.mode == mode
                and before.stamp == stamp
            ):
                continue
            inner = start + name
            if inner == _GIT:
                continue
            try:
                state = os.lstat(f"{self.mirror.root}/{inner}")
            except OSError:
                self.drop(folder, path, name)
                is_same = False
                continue
            # An attribute set later in the same clock tick does not change the folder's times.
            is_same &= isinstance(before, Folder) and not is_racy(state)
            self._entry(folder, inner, state, waiting, repository)
            is_same &= known.get(name) is before
        return is_same

    def _visit(
        self,
        folder: Folder,
        path: str,
        waiting: list[tuple[Folder, str, str | None]],
        repository: str | None,
    ) -> None:
        name = path.rpartition("/")[2]
        try:
            state = os.lstat(f"{self.mirror.root}/{path}" if name else self.mirror.root)
        except OSError:
            self.drop(folder, path.rpartition("/")[0], name)
            return
        if not name:
            self._folder_itself(folder, "", state)
            return
        known = folder.entries.get(name)
        if isinstance(known, File):
            # The kernel reported a change, so read the file even if its stamp is equal.
            known.stamp = 0
        count = len(waiting)
        self._entry(folder, path, state, waiting, repository)
        if isinstance(known, Folder) and known is folder.entries.get(name):
            is_watched = self.watch is None or self.watch.knows(path)
            if is_watched:
                del waiting[count:]

    def _entry(
        self,
        folder: Folder,
        path: str,
        state: os.stat_result,
        waiting: list[tuple[Folder, str, str | None]],
        repository: str | None,
    ) -> None:
        name = path.rpartition("/")[2]
        known = folder.entries.get(name)
        if not stat.S_ISDIR(state.st_mode):
            self._file(folder, path, state, repository)
            return
        inside = None if name == _GIT else repository
        if not isinstance(known, Folder):
            self.drop(folder, path.rpartition("/")[0], name)
            known = Folder(name, folder, state.st_mode)
            known.is_ignored = folder.is_ignored
            folder.entries[name] = known
            folder.changed()
            if inside is not None:
                self.unknown.setdefault(inside, []).append(path)
                if may_be_rebuilt(name):
                    self._waiting.append((known, path, inside))
                    return
        self._folder_itself(known, path, state)
        if known.is_kept:
            waiting.append((known, path, inside))

    def _file(
        self, folder: Folder, path: str, state: os.stat_result, repository: str | None
    ) -> None:
        name, stamp = path.rpartition("/")[2], stamp_of(state)
        known = folder.entries.get(name)
        if state.st_nlink > 1 and stat.S_ISREG(state.st_mode):
            inode = state.st_dev, state.st_ino
            if self.mirror.linked.get(path) != inode:
                self.mirror.linked[path] = inode
                names = sum(each == inode for each in self.mirror.linked.values())
                self.has_new_links |= names < state.st_nlink
        elif path in self.mirror.linked:
            del self.mirror.linked[path]
        if isinstance(known, File) and known.stamp == stamp:
            return
        if not isinstance(known, File):
            self.drop(folder, path.rpartition("/")[0], name)
            known = File(state.st_mode, state.st_size, is_ignored=folder.is_ignored)
            folder.entries[name] = known
            is_known = path in self.mirror.deleted and not folder.is_ignored
            if repository is not None and name != _GIT and not is_known:
                self.unknown.setdefault(repository, []).append(path)
        known.mode, known.size = state.st_mode, state.st_size
        folder.changed()
        self.has_new_rules |= name == _IGNORE_FILE
        self.pending.append(PendingReads(folder, name, path, state))

    def _folder_itself(self, folder: Folder, path: str, state: os.stat_result) -> None:
        if folder.mode != state.st_mode or folder.tree is None:
            folder.mode = state.st_mode
            folder.changed()
        note_xattrs(self.mirror, folder, "", path)

    def drop(self, folder: Folder, where: str, name: str) -> None:
        """Remove a name of a folder, and everything below it, from the mirror."""
        known = folder.entries.pop(name, None)
        if known is None:
            return
        path = f"{where}/{name}" if where else name
        folder.changed()
        if folder.xattrs:
            folder.xattrs.pop(name, None)
        self.has_new_rules |= name == _IGNORE_FILE
        if isinstance(known, Folder):
            known.parent = folder
            self._unwatch(known)
        elif not known.is_ignored and len(self.mirror.deleted) < _MAX_DELETED:
            self.mirror.deleted.add(path)
        self._forget_below(path)

    def _forget_below(self, path: str) -> None:
        for known in (self.mirror.linked, self.mirror.unkept):
            for each in [p for p in known if p == path or p.startswith(f"{path}/")]:
                known.pop(each, None)

    def _unwatch(self, folder: File | Folder) -> None:
        if self.watch is not None and isinstance(folder, Folder):
            for each in folder.below():
                self.watch.remove(each.path)

    def _mark(self, path: str, *, is_ignored: bool) -> None:
        where, _, name = path.rpartition("/")
        folder = self.mirror.top.at(where)
        known = folder.entries.get(name) if folder is not None else None
        if folder is None or known is None:
            return
        is_ignored |= folder.is_ignored
        if known.is_ignored != is_ignored:
            known.is_ignored = is_ignored
            folder.changed()
            if isinstance(known, File) and not known.id:
                with suppress(OSError):
                    state = os.lstat(f"{self.mirror.root}/{path}")
                    self.pending.append(PendingReads(folder, name, path, state))
            elif isinstance(known, Folder):
                known.changed()


def _repository_of(folder: Folder) -> str | None:
    """Path of the repository that contains a folder; empty for the worktree, None in a `.git`."""
    here: Folder | None = folder
    found: str | None = None
    while here is not None:
        if here.name == _GIT and here.parent is not None:
            return None
        if found is None and here.is_repository:
            found = here.path
        here = here.parent
    return found or ""


def _ignored_top(folder: Folder) -> Folder | None:
    """The outermost ignored folder that contains this folder, or the folder itself."""
    found: Folder | None = None
    here = folder
    while here.parent is not None:
        if here.is_ignored:
            found = here
        here = here.parent
    return found

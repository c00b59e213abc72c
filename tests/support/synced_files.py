"""Recorder of `fsync` and `sync`: files that would survive a power failure."""

import os
from pathlib import Path

import pytest


class SyncedFiles:
    """Records the content of each file and directory when it was last synced.

    Args:
        root: the directory that `os.sync` covers; it does not run, since it waits for every disk.

    Attributes:
        syncs: the number of calls of `os.sync`.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, root: Path | None = None) -> None:
        self._held: dict[int, bytes | set[str]] = {}
        self._fsync = os.fsync
        self._root = root
        self.syncs = 0
        monkeypatch.setattr(os, "fsync", self._record)
        if root is not None:
            monkeypatch.setattr(os, "sync", self._record_all)

    def lost(self, root: Path) -> list[Path]:
        """List files below a directory that would be lost or have other content.

        A file is also lost if the name of a folder on its path is.
        """
        files = [each for each in root.rglob("*") if each.is_file() and each.stat().st_size]
        return [each for each in files if not (self._is_synced(each) and self._leads(root, each))]

    def _record(self, handle: int) -> None:
        self._fsync(handle)
        self._hold(Path(f"/proc/self/fd/{handle}").readlink())

    def _record_all(self) -> None:
        assert self._root is not None
        self.syncs += 1
        for path in (self._root, *self._root.rglob("*")):
            self._hold(path)

    def _hold(self, path: Path) -> None:
        self._held[path.stat().st_ino] = (
            {each.name for each in path.iterdir()} if path.is_dir() else path.read_bytes()
        )

    def _is_synced(self, file: Path) -> bool:
        return self._held.get(file.stat().st_ino) == file.read_bytes()

    def _leads(self, root: Path, file: Path) -> bool:
        folders = [each for each in file.parents if each.is_relative_to(root) and each != root]
        return all(map(self._is_listed, (file, *folders)))

    def _is_listed(self, file: Path) -> bool:
        names = self._held.get(file.parent.stat().st_ino)
        return isinstance(names, set) and file.name in names

"""Snapshot stores sync their files to disk."""

import os
from pathlib import Path

import pytest
from tests.support.synced_files import SyncedFiles

from localio.files import make_private_directory
from symposium.tasks.snapshots import clone_state
from symposium.tasks.snapshots.clone_state import fingerprint
from symposium.tasks.snapshots.store import copy_packs


@pytest.mark.requirement("snapshots.copied-packs-last")
def test_copied_pack_survives_a_power_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    for name in ("pack-a", "pack-b", "pack-whole"):
        for ending in ("pack", "idx"):
            (source / f"{name}.{ending}").write_bytes(b"content of " + name.encode())
    (source / "pack-half.pack").write_bytes(b"no index yet")
    synced = SyncedFiles(monkeypatch)

    copy_packs(source, target, names=["pack-a.pack", "pack-b.pack", "pack-half.pack"])

    assert sorted(each.name for each in target.iterdir()) == [
        *("pack-a.idx", "pack-a.pack", "pack-b.idx", "pack-b.pack"),
    ]
    assert {each.stat().st_mode & 0o777 for each in target.iterdir()} == {0o600}
    assert synced.lost(target) == []


@pytest.mark.requirement("snapshots.copied-packs-last")
def test_private_folder_is_readable_only_by_the_user_and_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    sync = os.fsync

    def record(handle: int) -> None:
        sync(handle)
        synced.append(Path(f"/proc/self/fd/{handle}").readlink())

    monkeypatch.setattr(os, "fsync", record)
    make_private_directory(tmp_path / "a" / "b" / "c", is_synced=True)

    made = [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "c"]
    assert [each.stat().st_mode & 0o777 for each in made] == [0o700] * 3
    assert synced == [tmp_path, *made[:2]]


@pytest.mark.requirement("snapshots.racy-files")
def test_recently_changed_file_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two changes within one tick of the clock have the same times."""
    file = tmp_path / "file"
    file.write_bytes(b"one")
    state = file.stat()
    monkeypatch.setattr(clone_state, "_RACY", 10**15)
    assert fingerprint(state) != fingerprint(state)

    monkeypatch.setattr(clone_state, "_RACY", 0)
    assert fingerprint(state) == fingerprint(state)

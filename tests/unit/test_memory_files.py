"""Tests use a directory in memory if possible."""

import os
from pathlib import Path

import pytest
from tests.support.memory_files import in_memory

pytestmark = pytest.mark.requirement("house.files-in-memory")


def test_directory_with_enough_space_is_used(tmp_path: Path) -> None:
    found = os.statvfs(tmp_path)

    assert in_memory(tmp_path, room=1) == tmp_path
    assert in_memory(tmp_path, room=found.f_blocks * found.f_frsize + 1) is None


def test_directory_mounted_noexec_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = list(os.statvfs(tmp_path))
    found[8] |= os.ST_NOEXEC

    def statvfs(_: Path) -> os.statvfs_result:
        return os.statvfs_result(found)

    monkeypatch.setattr(os, "statvfs", statvfs)

    assert in_memory(tmp_path, room=0) is None


def test_missing_directory_is_not_used(tmp_path: Path) -> None:
    assert in_memory(tmp_path / "missing", room=0) is None

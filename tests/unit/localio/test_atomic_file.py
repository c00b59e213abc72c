"""Atomic writes: a file is replaced completely or not at all."""

import os
import stat
from errno import EACCES, EDQUOT, EIO, ENOSPC, EPERM, EROFS
from pathlib import Path

import pytest
from tests.support.synced_files import SyncedFiles

from localio.files import make_private_directory, read_text, storage_error_text, write_whole


@pytest.mark.requirement("config.save-read-only")
@pytest.mark.parametrize("is_directory", [False, True])
def test_read_only_file_is_not_replaced(tmp_path: Path, *, is_directory: bool) -> None:
    path = tmp_path / "directory" / "file"
    write_whole(path, "old")
    marked = path.parent if is_directory else path
    mode = marked.stat().st_mode
    marked.chmod(mode & ~0o222)
    try:
        with pytest.raises(PermissionError, match="read-only"):
            write_whole(path, "new")
    finally:
        marked.chmod(mode)

    assert read_text(path) == "old"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.requirement("config.save-atomic")
def test_failed_write_leaves_no_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, "old")

    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "\ud800")

    assert read_text(path) == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.requirement("config.save-private")
def test_write_through_a_dangling_link_creates_its_target(tmp_path: Path) -> None:
    link, real = tmp_path / "link", tmp_path / "dotfiles" / "real"
    link.symlink_to(real)

    write_whole(link, "text")

    assert link.is_symlink()
    assert read_text(real) == "text"


@pytest.mark.requirement("config.save-private")
@pytest.mark.parametrize(("before", "after"), [(None, 0o600), (0o644, 0o644), (0o640, 0o640)])
def test_new_file_is_private_and_an_older_one_keeps_its_mode(
    before: int | None, after: int, tmp_path: Path
) -> None:
    path = tmp_path / "new" / "file"
    if before is not None:
        write_whole(path, "old")
        path.chmod(before)

    write_whole(path, b"\xff\r\n")

    assert path.read_bytes() == b"\xff\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == after
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.requirement("config.save-atomic")
def test_written_file_and_its_name_are_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = SyncedFiles(monkeypatch)
    for text in ("first", "second"):
        write_whole(tmp_path / "file", text)

        assert synced.lost(tmp_path) == []


@pytest.mark.requirement("config.save-atomic")
def test_error_of_a_failed_replacement_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()

    with pytest.raises(OSError, match="directory") as caught:
        write_whole(tmp_path / "place", "text")

    assert caught.value.filename == str(tmp_path / "place")
    assert list(tmp_path.iterdir()) == [tmp_path / "place"]


@pytest.mark.requirement("config.save-atomic")
def test_text_is_read_with_its_line_ends_and_none_without_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a\r\nb\r")

    assert read_text(tmp_path / "file") == "a\r\nb\r"
    assert read_text(tmp_path / "missing") is None


@pytest.mark.requirement("tasks.storage-errors")
@pytest.mark.parametrize(
    ("code", "fix"),
    [
        (ENOSPC, "; free space on its file system"),
        (EDQUOT, "; free space, your quota is used up"),
        (EROFS, "; its file system is read-only; set SYMPOSIUM_HOME to another directory"),
        (EACCES, "; make it writable"),
        (EPERM, "; make it writable"),
        (EIO, ""),
    ],
)
def test_storage_error_names_the_path_and_the_fix(code: int, fix: str) -> None:
    reason = os.strerror(code)

    assert storage_error_text(OSError(code, reason, "/a")) == f"cannot write /a: {reason}{fix}"
    named = f"cannot write a file of Symposium: {reason}{fix}"
    assert storage_error_text(OSError(code, reason)) == named


@pytest.mark.requirement("daemon.private-whoever-first")
@pytest.mark.parametrize("is_synced", [False, True])
def test_each_new_directory_is_private_and_its_name_synced_if_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_synced: bool
) -> None:
    synced = SyncedFiles(monkeypatch)
    before = os.umask(0o022)
    try:
        make_private_directory(tmp_path / "a" / "b", is_synced=is_synced)
        make_private_directory(tmp_path / "a" / "b", is_synced=is_synced)
    finally:
        os.umask(before)

    assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.rglob("*")} == {0o700}
    write_whole(tmp_path / "a" / "b" / "file", "text")
    assert (synced.lost(tmp_path) == []) is is_synced

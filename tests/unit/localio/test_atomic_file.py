"""Atomic writes: a file is replaced completely or not at all."""

from pathlib import Path

import pytest

from localio.files import read_text, write_whole


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

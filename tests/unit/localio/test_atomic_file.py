"""A file is written whole, or left as it was."""

from pathlib import Path

import pytest

from localio.files import read_text, write_whole


@pytest.mark.requirement("config.save-read-only")
@pytest.mark.parametrize("is_directory", [False, True])
def test_what_is_marked_as_read_only_is_not_written(tmp_path: Path, *, is_directory: bool) -> None:
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
def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, "old")

    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "\ud800")

    assert read_text(path) == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.requirement("config.save-private")
def test_a_link_to_nowhere_yet_gets_its_file(tmp_path: Path) -> None:
    link, real = tmp_path / "link", tmp_path / "dotfiles" / "real"
    link.symlink_to(real)

    write_whole(link, "text")

    assert link.is_symlink()
    assert read_text(real) == "text"

"""Files that others have put there are read without being held up."""

import os
from pathlib import Path

import pytest

from localio.files import regular_content

pytestmark = pytest.mark.timeout(240)


@pytest.mark.requirement("house.odd-files")
def test_a_file_is_read_up_to_its_bound_and_through_links(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")

    assert regular_content(tmp_path / "link", 5) == b"12345"
    with pytest.raises(ValueError, match="larger than 4 bytes"):
        regular_content(tmp_path / "file", 4)


@pytest.mark.requirement("house.odd-files")
def test_what_waits_or_never_ends_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")

    for odd in (tmp_path / "pipe", tmp_path / "link", tmp_path, Path("/dev/zero")):
        with pytest.raises(ValueError, match="no file"):
            regular_content(odd, 100)

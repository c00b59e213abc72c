"""Reading untrusted files does not block and is limited."""

import os
from pathlib import Path

import pytest

from localio.files import regular_content

pytestmark = pytest.mark.timeout(240)


@pytest.mark.requirement("house.odd-files")
def test_file_is_read_up_to_the_limit_and_through_links(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")

    assert regular_content(tmp_path / "link", 5) == b"12345"
    with pytest.raises(ValueError, match="larger than 4 bytes"):
        regular_content(tmp_path / "file", 4)


@pytest.mark.requirement("house.odd-files")
def test_pipe_device_or_directory_is_rejected_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")

    for odd in (tmp_path / "pipe", tmp_path / "link", tmp_path, Path("/dev/zero")):
        with pytest.raises(ValueError, match="not a regular file"):
            regular_content(odd, 100)

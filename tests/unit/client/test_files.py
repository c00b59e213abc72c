"""Access of an agent to files through its client."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerwire.errors import INTERNAL_ERROR, INVALID_PARAMS, RESOURCE_NOT_FOUND, RpcError
from symposium.client.answers import MAX_FILE_BYTES, Files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "poem").write_text("one\ntwo\nthree\n")
    return tmp_path / "project"


def refusal(root: Path, path: str) -> RpcError:
    """The error for reading and writing this path; both are the same."""
    files = Files(root)
    with pytest.raises(RpcError) as read:
        files.read(path)
    with pytest.raises(RpcError) as written:
        files.write(path, "x")
    assert read.value.code == written.value.code
    return read.value


@pytest.mark.requirement("cli.client-files")
@pytest.mark.parametrize(
    ("line", "limit", "text"),
    [
        (None, None, "one\ntwo\nthree\n"),
        (1, None, "one\ntwo\nthree\n"),
        (2, None, "two\nthree\n"),
        (2, 1, "two\n"),
        (None, 2, "one\ntwo\n"),
        (9, 1, ""),
        (1, 0, ""),
        (0, 1, "one\n"),
        (1, -1, ""),
    ],
)
def test_file_is_read_completely_or_in_part(
    root: Path, line: int | None, limit: int | None, text: str
) -> None:
    assert Files(root).read(str(root / "poem"), line=line, limit=limit) == text


@pytest.mark.requirement("cli.client-files")
def test_write_creates_directories_and_keeps_line_endings(
    root: Path,
) -> None:
    Files(root).write(str(root / "new" / "deep" / "file"), "a\r\nb\n")

    assert (root / "new" / "deep" / "file").read_bytes() == b"a\r\nb\n"


@pytest.mark.requirement("cli.client-files")
@pytest.mark.parametrize("path", ["../outside/secret", "new/../../outside/secret", "link/secret"])
def test_path_outside_of_the_directory_is_refused(root: Path, path: str) -> None:
    (root / "link").symlink_to(root.parent / "outside")
    error = refusal(root, f"{root}/{path}")

    assert error.code == INVALID_PARAMS
    assert f"is outside {root}" in error.data
    assert (root.parent / "outside" / "secret").read_text() == "secret"


@pytest.mark.requirement("cli.client-files")
def test_link_to_a_missing_file_is_resolved_before_the_check(
    root: Path,
) -> None:
    (root / "link").symlink_to(root.parent / "outside" / "new")

    assert "is outside" in refusal(root, str(root / "link")).data
    assert not (root.parent / "outside" / "new").exists()


@pytest.mark.requirement("cli.client-files")
@pytest.mark.parametrize(
    ("path", "why"), [("poem", "absolute"), ("", "absolute"), ("/a\0b", "names no file")]
)
def test_invalid_path_is_refused(root: Path, path: str, why: str) -> None:
    assert why in refusal(root, path).data


@pytest.mark.requirement("cli.client-files")
def test_circular_links_are_refused(root: Path) -> None:
    (root / "a").symlink_to(root / "b")
    (root / "b").symlink_to(root / "a")

    assert refusal(root, str(root / "a")).code == INVALID_PARAMS


@pytest.mark.requirement("cli.client-files")
def test_missing_file_has_its_own_error(root: Path) -> None:
    with pytest.raises(RpcError) as error:
        Files(root).read(str(root / "nothing"))

    assert error.value.code == RESOURCE_NOT_FOUND


@pytest.mark.requirement("cli.client-files")
def test_binary_or_too_large_file_is_not_read(root: Path) -> None:
    (root / "image").write_bytes(b"\xff\xfe")
    with (root / "large").open("wb") as large:
        large.truncate(MAX_FILE_BYTES + 1)

    with pytest.raises(RpcError, match="not UTF-8"):
        Files(root).read(str(root / "image"))
    with pytest.raises(RpcError, match="larger than"):
        Files(root).read(str(root / "large"))


@pytest.mark.requirement("cli.client-files", "house.odd-files")
@pytest.mark.timeout(240)
def test_pipe_is_refused_without_waiting(root: Path) -> None:
    os.mkfifo(root / "pipe")

    with pytest.raises(RpcError, match="not a regular file"):
        Files(root).read(str(root / "pipe"))


@pytest.mark.requirement("cli.client-files")
@given(st.text(st.sampled_from("./ab"), max_size=30))
def test_no_path_of_dots_and_slashes_leaves_the_directory(path: str) -> None:
    root = Path(__file__).parent
    try:
        Files(root).read(f"{root}/{path}")
    except RpcError:
        return
    assert Path(f"{root}/{path}").resolve().is_relative_to(root)


@pytest.mark.requirement("cli.client-files")
def test_a_file_with_other_line_ends_is_read_with_plain_newlines(root: Path) -> None:
    (root / "poem").write_bytes(b"one\r\ntwo\rthree\n")

    assert Files(root).read(str(root / "poem")) == "one\ntwo\nthree\n"
    assert Files(root).read(str(root / "poem"), line=2, limit=1) == "two\n"


@pytest.mark.requirement("cli.client-files")
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOTDIR, INVALID_PARAMS),
        (errno.EISDIR, INVALID_PARAMS),
        (errno.EEXIST, INVALID_PARAMS),
        (errno.ENAMETOOLONG, INVALID_PARAMS),
        (errno.ENOSPC, INTERNAL_ERROR),
        (errno.EACCES, INTERNAL_ERROR),
        (errno.EROFS, INTERNAL_ERROR),
    ],
)
def test_only_errors_of_the_path_are_errors_of_the_params(
    root: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", fail)
        with pytest.raises(RpcError) as error:
            Files(root).write(str(root / "poem"), "x")

    assert error.value.code == code
    assert error.value.data == f"{root / 'poem'}: {os.strerror(number)}"

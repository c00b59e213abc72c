"""Reading of workspace content."""

import os
from pathlib import Path

import pytest

from symposium.permissions.trusted_content import TrustError, TrustLink, read_item


@pytest.mark.requirement("trust.read-once")
def test_content_is_kept_as_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    found = read_item(tmp_path, "mods", "a")
    assert found is not None
    digest = found.digest
    (tmp_path / "a").write_text("two")
    assert (found.content, found.digest) == (b"one", digest)


@pytest.mark.requirement("trust.read-once")
def test_a_file_that_is_moved_while_it_is_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("good")
    (tmp_path / "b").write_text("evil")
    true_open = os.open

    def swap_then_open(path: str, flags: int) -> int:
        handle = true_open(path, flags)
        (tmp_path / "b").replace(tmp_path / "a")
        return handle

    def remove_then_open(path: str, flags: int) -> int:
        handle = true_open(path, flags)
        (tmp_path / "a").unlink()
        return handle

    for change in (swap_then_open, remove_then_open):
        monkeypatch.setattr(os, "open", change)
        with pytest.raises(TrustError, match="changed while being read"):
            read_item(tmp_path, "mods", "a")


@pytest.mark.requirement("trust.read-once", "trust.links-named")
def test_a_link_that_changes_while_its_file_is_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").write_text("same")
    (tmp_path / "other").hardlink_to(tmp_path / "real")
    (tmp_path / "a").symlink_to("real")
    (tmp_path / "b").symlink_to("other")
    true_open = os.open

    def relink_then_open(path: str, flags: int) -> int:
        (tmp_path / "b").replace(tmp_path / "a")
        return true_open(path, flags)

    monkeypatch.setattr(os, "open", relink_then_open)
    with pytest.raises(TrustError, match="changed while being read"):
        read_item(tmp_path, "mods", "a")


@pytest.mark.requirement("trust.read-once")
def test_missing_content_is_not_an_error(tmp_path: Path) -> None:
    assert read_item(tmp_path, "mods", "nothing") is None
    (tmp_path / "file").write_text("")
    assert read_item(tmp_path, "mods", "file/below") is None


@pytest.mark.requirement("trust.links-named")
def test_each_link_on_the_way_is_named_with_what_it_leads_to(tmp_path: Path) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    (outside / "real.toml").write_text("x")
    (outside / "r.toml").symlink_to("real.toml")
    (work / ".symposium").symlink_to("../outside")
    found = read_item(work, "recommendations", ".symposium/r.toml")
    assert found is not None
    assert found.links == (
        TrustLink(".symposium", str(outside)),
        TrustLink(".symposium/r.toml", str(outside / "real.toml")),
    )
    assert all("(outside the workspace)" in each.detail for each in found.effects)


@pytest.mark.requirement("trust.links-named")
def test_a_workspace_that_is_reached_by_a_link_is_the_same_workspace(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_text("x")
    (tmp_path / "link").symlink_to("real")
    found = read_item(tmp_path / "link", "mods", "a")
    assert found == read_item(tmp_path / "real", "mods", "a")
    assert found is not None
    assert found.links == ()


@pytest.mark.requirement("trust.odd-files")
def test_unreadable_content_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"x" * 11)
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    found: dict[str, str] = {}
    open_before = len([*Path("/proc/self/fd").iterdir()])
    for name in ("directory", "pipe", "large", "broken", "loop", "../up", "/etc/passwd", "a\0b"):
        with pytest.raises(TrustError) as caught:
            read_item(tmp_path, "mods", name, max_bytes=10)
        assert caught.value.hint == "ignored; fix or delete it"
        found[name] = caught.value.message.removeprefix(f"{tmp_path / name}: ")
    assert len([*Path("/proc/self/fd").iterdir()]) == open_before
    loop = f"[Errno 40] Too many levels of symbolic links: '{tmp_path / 'loop'}'"
    assert found == {
        "directory": "not a regular file",
        "pipe": "not a regular file",
        "large": "larger than 10 bytes",
        "broken": "the link has no target",
        "loop": loop,
        "../up": "the name leads outside the workspace",
        "/etc/passwd": "the name leads outside the workspace",
        "a\0b": "embedded null byte",
    }
    (tmp_path / "large").write_bytes(b"x" * 10)
    assert read_item(tmp_path, "mods", "large", max_bytes=10) is not None


@pytest.mark.requirement("trust.odd-files")
def test_a_device_behind_a_link_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(TrustError, match="not a regular file"):
        read_item(tmp_path, "mods", "zero")

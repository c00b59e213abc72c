"""The files of a worktree that are known at the next start."""

import stat
from pathlib import Path

import msgspec
import pytest

from symposium.tasks.snapshots.file_metadata import File, Folder, Mirror, decode, encode

MODE = stat.S_IFDIR | 0o755


def mirror(*names: str) -> Mirror:
    top = Folder("", None, MODE)
    for name in names:
        top.entries[name] = Folder(name, top, MODE)
    return Mirror(Path("/worktree"), top)


@pytest.mark.requirement("snapshots.saved-when-changed")
def test_saved_files_do_not_depend_on_the_order_in_which_folders_were_read() -> None:
    one, other = encode(mirror("a", "b", "c")), encode(mirror("c", "a", "b"))

    assert one == other
    assert encode(decode(Path("/worktree"), one)) == one
    assert encode(mirror("a", "b")) != one


@pytest.mark.requirement("snapshots.saved-when-changed")
def test_saved_folder_without_its_parent_is_left_out() -> None:
    known = mirror("a", "b")
    inner = known.top.entries["a"]
    assert isinstance(inner, Folder)
    inner.entries["deep"] = deep = Folder("deep", inner, MODE)
    deep.entries["file"] = File(stat.S_IFREG | 0o644, 1)
    version, rows, unkept = msgspec.msgpack.decode(encode(known))
    left = [row for row in rows if row[0] != "a"]
    found = decode(Path("/worktree"), msgspec.msgpack.encode((version, left, unkept)))

    assert len(left) == len(rows) - 1
    assert [each.path for each in found.top.below()] == ["", "b"]
    assert found.top.entries.keys() == {"b"}

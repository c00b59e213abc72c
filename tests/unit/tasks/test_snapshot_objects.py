"""Objects of a snapshot store, written and found without git."""

import hashlib
import os
import time
from io import BytesIO
from pathlib import Path
from struct import pack

import pytest

from symposium.tasks.snapshots.objects import Objects, TreeEntry, entries_of

_LARGE = (1 << 20) + 1


def blob_id(content: bytes, algorithm: str = "sha1") -> str:
    return hashlib.new(algorithm, b"blob %d\0" % len(content) + content).hexdigest()


def write_index(directory: Path, names: list[bytes], name: str = "one") -> None:
    """Write the index of a pack with these objects (gitformat-pack(5), version 2)."""
    counts = [sum(each[0] <= first for each in names) for first in range(256)]
    (directory / "pack").mkdir(parents=True, exist_ok=True)
    (directory / "pack" / f"pack-{name}.idx").write_bytes(
        b"\xfftOc\0\0\0\2" + pack(">256I", *counts) + b"".join(sorted(names)) + b"\xff" * 200
    )


@pytest.mark.requirement("snapshots.object-store")
@pytest.mark.parametrize(("algorithm", "size"), [("sha1", 20), ("sha256", 32)])
def test_exactly_the_objects_of_every_pack_are_found(
    tmp_path: Path, algorithm: str, size: int
) -> None:
    heads = [b"\0\0", b"\0\1", b"\1\0", b"\7\1", b"\7\3", b"\7\5", b"\7\7", b"\xff\0", b"\xff\xff"]
    names = [head + bytes(size - 2) for head in heads]
    missing = [name[:-1] + b"\1" for name in names] + [b"\5" * size, b"\7\4" + bytes(size - 2)]
    write_index(tmp_path, names)
    objects = Objects(tmp_path, algorithm)

    assert [objects.has(name.hex()) for name in names] == [True] * len(names)
    assert [objects.has(name.hex()) for name in missing] == [False] * len(missing)

    added = b"\5" * size
    write_index(tmp_path, [added], "two")
    os.utime(tmp_path / "pack", ns=(1, 1))
    assert objects.has(added.hex()), "a new pack is noticed"
    assert objects.has(names[0].hex())
    assert not objects.has((b"\5" * (size - 1) + b"\6").hex())


@pytest.mark.requirement("snapshots.object-store")
@pytest.mark.parametrize("damage", [b"", b"\xfftOc\0\0\0\2", b"\0" * 2000])
def test_damaged_index_of_a_pack_lists_nothing(tmp_path: Path, damage: bytes) -> None:
    write_index(tmp_path, [bytes(20)])
    (tmp_path / "pack" / "pack-one.idx").write_bytes(damage)

    assert not Objects(tmp_path, "sha1").has("00" * 20)
    assert not Objects(tmp_path / "none", "sha1").has("00" * 20)


@pytest.mark.requirement("snapshots.object-store")
def test_object_that_is_present_is_not_written_again(tmp_path: Path) -> None:
    objects, packed, large = Objects(tmp_path, "sha1"), b"packed", b"x" * _LARGE
    write_index(tmp_path, [bytes.fromhex(blob_id(packed))])

    assert objects.put("blob", packed) == blob_id(packed)
    assert objects.loose_size(blob_id(packed)) is None
    assert objects.loose(blob_id(packed)) is None

    id_ = objects.put_file(BytesIO(large), _LARGE)
    path = tmp_path / id_[:2] / id_[2:]
    before = path.stat()
    assert objects.put_file(BytesIO(large), _LARGE) == id_ == blob_id(large)
    assert path.stat().st_ino == before.st_ino
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert objects.loose_size(id_) == before.st_size
    assert objects.loose(id_) == ("blob", large)

    for age, is_refreshed in ((86300, False), (86500, True)):
        then = time.time() - age
        os.utime(path, (then, then))
        objects.put_file(BytesIO(large), _LARGE)
        assert (path.stat().st_mtime > then + 50000) is is_refreshed


@pytest.mark.requirement("snapshots.racy-files")
@pytest.mark.parametrize("told", [_LARGE, _LARGE + 2])
def test_large_file_of_another_size_than_it_had_is_not_stored(tmp_path: Path, told: int) -> None:
    content = b"x" * (_LARGE + 1)

    with pytest.raises(BlockingIOError, match=f"while it is read: {_LARGE + 1}, not {told}"):
        Objects(tmp_path, "sha1").put_file(BytesIO(content), told)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("snapshots.racy-files")
def test_large_file_that_changes_between_two_reads_leaves_no_wrong_object(tmp_path: Path) -> None:
    class Changing(BytesIO):
        def seek(self, place: int, whence: int = 0) -> int:
            self.getbuffer()[7:8] = b"y"
            return super().seek(place, whence)

    objects, content = Objects(tmp_path, "sha1"), b"x" * _LARGE

    with pytest.raises(BlockingIOError, match="it changes while it is read"):
        objects.put_file(Changing(content), _LARGE)

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    id_ = objects.put_file(BytesIO(content), _LARGE)
    copy = BytesIO()
    objects.copy_loose(id_, copy)
    assert copy.getvalue() == content


@pytest.mark.requirement("snapshots.object-store")
def test_damaged_object_is_an_error(tmp_path: Path) -> None:
    objects = Objects(tmp_path, "sha1")
    id_ = objects.put("blob", b"content")
    path = tmp_path / id_[:2] / id_[2:]
    whole = path.read_bytes()

    assert objects.loose(id_) == ("blob", b"content")
    for damaged in (whole[:-6], b"garbage", b""):
        path.write_bytes(damaged)
        with pytest.raises(OSError, match=f"object {id_} is damaged"):
            objects.loose(id_)


@pytest.mark.requirement("snapshots.raw-bytes")
def test_tree_is_written_in_the_order_of_git_and_read_again(tmp_path: Path) -> None:
    objects = Objects(tmp_path, "sha1")
    entries = [
        TreeEntry("40000", b"a", "01" * 20),
        TreeEntry("100644", b"a.txt", "00" * 20),
        TreeEntry("120000", b"a0", "20" * 20),
        TreeEntry("100755", b"b c\xff", "03" * 20),
    ]

    id_ = objects.put_tree(reversed(entries))

    loose = objects.loose(id_)
    assert loose is not None
    assert loose[0] == "tree"
    assert [each.name for each in entries_of(loose[1], 20)] == [b"a.txt", b"a", b"a0", b"b c\xff"]
    assert set(entries_of(loose[1], 20)) == set(entries)


@pytest.mark.requirement("snapshots.synced")
def test_objects_of_git_that_were_written_since_a_moment_are_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = Objects(tmp_path, "sha1")
    for name, at in (("aa/old", 1000), ("ab/new", 2000), ("info/new", 2000)):
        path = tmp_path / name
        path.parent.mkdir()
        path.write_bytes(b"")
        os.utime(path, (at, at))
    (tmp_path / "aa/new").write_bytes(b"")
    os.utime(tmp_path / "aa/new", (1999.95, 1999.95))
    os.utime(tmp_path / "aa", (2000, 2000))
    synced: list[str] = []
    sync = os.fsync

    def record(handle: int) -> None:
        sync(handle)
        synced.append(str(Path(f"/proc/self/fd/{handle}").readlink()))

    monkeypatch.setattr(os, "fsync", record)
    objects.take_note(2000)
    objects.sync()

    names = ("aa", "aa/new", "ab", "ab/new", ".")
    assert sorted(synced) == sorted(str(tmp_path / name) for name in names)


@pytest.mark.requirement("snapshots.object-store")
def test_objects_are_private_in_new_and_in_known_folders(tmp_path: Path) -> None:
    objects = Objects(tmp_path, "sha1")
    found: set[str] = set()
    while len(found) == len({name[:2] for name in found}):
        found.add(objects.put("blob", str(len(found)).encode()))

    modes = {(tmp_path / name[:2] / name[2:]).stat().st_mode & 0o777 for name in found}
    assert modes == {0o600}
    assert {each.stat().st_mode & 0o777 for each in tmp_path.iterdir()} == {0o700}

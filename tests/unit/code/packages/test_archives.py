"""Files of an archive that are unpacked, left out, or refused, and the stored source."""

import gzip
import io
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.packages import tar_gz, wheel

from symposium.code.packages import sources
from symposium.code.packages.model import DamagedError, Ecosystem
from symposium.code.packages.sources import RECEIPT, SourceStore, file_name, unpack_sources


def tar_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for member, body in members:
            tar.addfile(member, io.BytesIO(body))
    return made.getvalue()


def member(name: str, body: bytes = b"") -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(body)
    return info, body


def odd(name: str, kind: bytes, leads_to: str = "") -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = leads_to
    return info, b""


def unpacked(packed: bytes, tmp_path: Path, kind: str = ".tar.gz") -> list[str]:
    archive, to = tmp_path / "archive", tmp_path / "to"
    archive.write_bytes(packed)
    to.mkdir()
    unpack_sources(archive, kind, to)
    return sorted(each.relative_to(to).as_posix() for each in to.rglob("*"))


@pytest.mark.requirement("package-sources.safe-archives")
def test_links_inside_are_left_out_and_the_rest_is_there(tmp_path: Path) -> None:
    packed = tar_of(
        member("a/real", b"x"),
        odd("a/soft", tarfile.SYMTYPE, "../a/real"),
        odd("a/hard", tarfile.LNKTYPE, "a/real"),
    )
    assert unpacked(packed, tmp_path) == ["a", "a/real"]


@pytest.mark.requirement("package-sources.safe-archives")
def test_a_zip_may_name_its_directories_and_links(tmp_path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as packed:
        for name, mode in (("a/b/", 0o040755), ("a/b/sub/", 0o040755), ("a/b/run", 0o100755)):
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            packed.writestr(info, b"" if name.endswith("/") else b"x")
        link = zipfile.ZipInfo("a/soft")
        link.external_attr = 0o120777 << 16
        packed.writestr(link, b"../a/b/run")
        packed.writestr("a/", b"")
        packed.writestr("plain", b"y")

    found = unpacked(made.getvalue(), tmp_path, ".zip")
    assert found == ["a", "a/b", "a/b/run", "a/b/sub", "plain"]
    modes = [(tmp_path / "to" / name).stat().st_mode for name in ("a/b/run", "plain")]
    assert modes == [0o100755, 0o100644]


@pytest.mark.requirement("package-sources.safe-archives")
def test_a_tar_may_name_a_directory_twice(tmp_path: Path) -> None:
    folder = odd("a/b", tarfile.DIRTYPE)

    assert unpacked(tar_of(folder, folder, member("a/b/c", b"x")), tmp_path) == [
        "a",
        "a/b",
        "a/b/c",
    ]


@pytest.mark.requirement("package-sources.safe-archives")
@pytest.mark.parametrize(
    "bad",
    [
        member("/etc/x", b"x"),
        member("../x", b"x"),
        member("a/../../x", b"x"),
        member("a\\..\\x", b"x"),
        member("C:/x", b"x"),
        odd("a", tarfile.SYMTYPE, "/etc/passwd"),
        odd("a/b", tarfile.SYMTYPE, "../../etc/passwd"),
        odd("a", tarfile.LNKTYPE, "../etc/passwd"),
        odd("a", tarfile.CHRTYPE),
        odd("a", tarfile.BLKTYPE),
        odd("a", tarfile.FIFOTYPE),
    ],
    ids=lambda each: f"{each[0].name} {each[0].type!r} {each[0].linkname}",
)
def test_a_member_that_no_package_has_is_refused(
    tmp_path: Path, bad: tuple[tarfile.TarInfo, bytes]
) -> None:
    with pytest.raises(DamagedError):
        unpacked(tar_of(member("fine", b"x"), bad), tmp_path)
    assert {each.name for each in tmp_path.iterdir()} == {"archive", "to"}


@pytest.mark.requirement("package-sources.safe-archives")
def test_the_same_name_twice_cannot_write_through_the_first(tmp_path: Path) -> None:
    with pytest.raises(DamagedError):
        unpacked(tar_of(member("a", b"1"), member("a", b"2")), tmp_path)


@pytest.mark.requirement("package-sources.safe-archives")
@pytest.mark.parametrize(
    ("name", "mode", "body"),
    [
        ("../x", 0o100644, b""),
        ("/x", 0o100644, b""),
        ("link", 0o120777, b"../../etc/passwd"),
        ("a/b/link", 0o120777, b"../../../etc/passwd"),
        ("device", 0o020666, b""),
    ],
)
def test_a_zip_is_held_to_the_same(tmp_path: Path, name: str, mode: int, body: bytes) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as packed:
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        packed.writestr(info, body)
    with pytest.raises(DamagedError):
        unpacked(made.getvalue(), tmp_path, ".zip")


@pytest.mark.requirement("package-sources.bounded-archives")
def test_a_bomb_is_refused_before_it_has_grown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_UNPACKED", 1024)
    with pytest.raises(DamagedError, match="too large"):
        unpacked(tar_of(member("a", b"\0" * 100_000)), tmp_path)
    assert (tmp_path / "to" / "a").stat().st_size <= 1024


@pytest.mark.requirement("package-sources.bounded-archives")
def test_a_zip_that_grows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_UNPACKED", 1024)
    with pytest.raises(DamagedError, match="too large"):
        unpacked(wheel({"a": b"\0" * 100_000}), tmp_path, ".zip")


@pytest.mark.requirement("package-sources.bounded-archives")
def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_FILES", 3)
    with pytest.raises(DamagedError, match="too many"):
        unpacked(tar_of(*(member(f"{at}") for at in range(4))), tmp_path)


@pytest.mark.requirement("package-sources.bounded-archives")
def test_a_header_that_announces_much_is_refused_unread(tmp_path: Path) -> None:
    header = tarfile.TarInfo("pax")
    header.type = tarfile.XHDTYPE
    header.size = 1 << 40
    with pytest.raises(DamagedError, match="headers that are too large"):
        unpacked(gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + b"\0" * 2048), tmp_path)


@pytest.mark.requirement("package-sources.bounded-archives")
def test_data_between_the_files_counts_toward_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_UNPACKED", 4096)
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz", pax_headers={"comment": "x" * 100_000}) as tar:
        tar.addfile(tarfile.TarInfo("a"))
    with pytest.raises(DamagedError, match="too large"):
        unpacked(made.getvalue(), tmp_path)


@pytest.mark.requirement("package-sources.safe-archives")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_broken_bytes_are_damage_and_nothing_else(
    tmp_path_factory: Any, data: st.DataObject
) -> None:
    place = tmp_path_factory.mktemp("fuzz")
    kind = data.draw(st.sampled_from([".tar.gz", ".zip", ".tar.bz2", ".tar.xz"]))
    whole = wheel({"a/b": b"x" * 99}) if kind == ".zip" else tar_gz({"a/b": b"x" * 99})
    at = data.draw(st.integers(0, len(whole) - 1))
    cut = data.draw(st.integers(0, len(whole)))
    broken = bytearray(whole)
    broken[at] = data.draw(st.integers(0, 255))
    try:
        names = unpacked(bytes(broken[:cut]), place, kind)
    except DamagedError:
        return
    assert not any(each.startswith("..") for each in names)
    assert [each.name for each in place.iterdir() if each.name not in {"to", "archive"}] == []


# -- what is kept


def archive(tmp_path: Path, files: dict[str, bytes]) -> tuple[Path, str]:
    file = tmp_path / "packed"
    file.write_bytes(tar_gz(files))
    return file, ".tar.gz"


@pytest.mark.requirement("package-sources.whole-or-absent")
def test_stored_source_has_no_outer_directory(tmp_path: Path) -> None:
    store = SourceStore(tmp_path / "kept")
    packed = archive(tmp_path, {"a-1.0/a-1.0/x": b"1", "a-1.0/y": b"2"})
    place = store.keep(Ecosystem.RUST, "a", "1.0.0", packed)
    assert sorted(each.name for each in place.root.iterdir()) == ["a-1.0", "y"]
    assert store.places(Ecosystem.RUST, "a") == [place]
    assert store.places(Ecosystem.NPM, "a") == []


@pytest.mark.requirement("package-sources.whole-or-absent")
def test_interrupted_unpacking_leaves_no_source(tmp_path: Path) -> None:
    store = SourceStore(tmp_path / "kept")
    file, kind = archive(tmp_path, {"a-1.0/x": b"1" * 50_000, "a-1.0/y": b"2" * 50_000})
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DamagedError):
        store.keep(Ecosystem.RUST, "a", "1.0.0", (file, kind))
    assert store.places(Ecosystem.RUST, "a") == []
    assert list((tmp_path / "kept").rglob("x")) == []


@pytest.mark.requirement("package-sources.whole-or-absent")
def test_a_directory_without_a_receipt_is_replaced(tmp_path: Path) -> None:
    store = SourceStore(tmp_path / "kept")
    half = tmp_path / "kept" / "rust" / "a" / "1.0.0" / "source"
    half.mkdir(parents=True)
    (half / "half").write_text("")
    assert store.places(Ecosystem.RUST, "a") == []
    place = store.keep(Ecosystem.RUST, "a", "1.0.0", archive(tmp_path, {"a/x": b"1"}))
    assert [each.name for each in place.root.iterdir()] == ["x"]


@pytest.mark.requirement("package-sources.whole-or-absent")
@pytest.mark.parametrize("receipt", [b"", b'{"version": "1.0.0"', b'{"version": 1}', b"\xff"])
def test_a_source_with_a_damaged_receipt_is_replaced(receipt: bytes, tmp_path: Path) -> None:
    store = SourceStore(tmp_path / "kept")
    packed = archive(tmp_path, {"a/x": b"1"})
    place = store.keep(Ecosystem.RUST, "a", "1.0.0", packed)
    (place.root.parent / RECEIPT).write_bytes(receipt)

    assert store.places(Ecosystem.RUST, "a") == []
    assert store.keep(Ecosystem.RUST, "a", "1.0.0", packed) == place
    assert store.places(Ecosystem.RUST, "a") == [place]


@pytest.mark.requirement("package-sources.whole-or-absent")
def test_source_that_is_stored_already_is_not_replaced(tmp_path: Path) -> None:
    store = SourceStore(tmp_path / "kept")
    place = store.keep(Ecosystem.RUST, "a", "1.0.0", archive(tmp_path, {"a/x": b"1"}))

    assert store.keep(Ecosystem.RUST, "a", "1.0.0", archive(tmp_path, {"a/y": b"2"})) == place
    assert [each.name for each in place.root.iterdir()] == ["x"]


@pytest.mark.requirement("package-sources.whole-or-absent")
def test_empty_archive_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DamagedError, match=r"^the archive of a 1\.0\.0 contains no files"):
        SourceStore(tmp_path).keep(Ecosystem.RUST, "a", "1.0.0", archive(tmp_path, {}))


NAMES = ["a/b", "A/b", "a+b", "..", ".", "@a/b", "a b", "~", ".a", "a", "A"]


@pytest.mark.requirement("package-sources.names")
@given(st.lists(st.sampled_from(NAMES), unique=True))
def test_each_name_has_its_own_directory(names: list[str]) -> None:
    places = [file_name(each) for each in names]
    assert len({each.lower() for each in places}) == len(names)
    assert not any("/" in each or each.startswith(".") for each in places)


@pytest.mark.requirement("package-sources.whole-or-absent")
def test_a_receipt_without_its_source_does_not_count(tmp_path: Path) -> None:
    store = SourceStore(tmp_path / "kept")
    packed = archive(tmp_path, {"a/x": b"1"})
    place = store.keep(Ecosystem.RUST, "a", "1.0.0", packed)
    shutil.rmtree(place.root)

    assert store.places(Ecosystem.RUST, "a") == []
    assert store.keep(Ecosystem.RUST, "a", "1.0.0", packed) == place
    assert [each.name for each in place.root.iterdir()] == ["x"]


@pytest.mark.requirement("package-sources.secrets-stay")
def test_stored_sources_are_private(tmp_path: Path) -> None:
    store = SourceStore(tmp_path / "kept")
    place = store.keep(Ecosystem.RUST, "a", "1.0.0", archive(tmp_path, {"a/x": b"1"}))

    assert place.root.parent.parent.stat().st_mode & 0o077 == 0

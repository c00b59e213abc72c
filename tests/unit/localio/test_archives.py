"""Harmful and harmless archives."""

import bz2
import gzip
import io
import lzma
import os
import stat
import struct
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localio.archives import ExtractionLimit, UnpackError, unpack

Fill = Callable[[tarfile.TarFile], None]


def member(
    name: str, body: bytes = b"x", *, kind: bytes = tarfile.REGTYPE, mode: int = 0o644
) -> Fill:
    def fill(tar: tarfile.TarFile) -> None:
        info = tarfile.TarInfo(name)
        info.type, info.mode, info.size = kind, mode, len(body) if kind == tarfile.REGTYPE else 0
        tar.addfile(info.replace(linkname="/etc/passwd"), io.BytesIO(body))

    return fill


def tar_of(path: Path, *fills: Fill) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for fill in fills:
            fill(tar)
    return path


def zip_of(path: Path, name: str, body: bytes = b"x", *, mode: int = stat.S_IFREG | 0o644) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        packed.writestr(info, body)
    return path


@pytest.mark.requirement("registry.unpack-safe")
@pytest.mark.parametrize(
    "fills",
    [
        pytest.param([member("../out")], id="up"),
        pytest.param([member("a/../../out")], id="up from within"),
        pytest.param([member("/tmp/out")], id="absolute"),
        pytest.param([member("..\\out")], id="up as on Windows"),
        pytest.param([member("C:/out")], id="drive"),
        pytest.param([member("a", kind=tarfile.SYMTYPE)], id="symbolic link"),
        pytest.param([member("a", kind=tarfile.LNKTYPE)], id="hard link"),
        pytest.param([member("a", kind=tarfile.SYMTYPE), member("a/x")], id="through a link"),
        pytest.param([member("a", kind=tarfile.FIFOTYPE)], id="pipe"),
        pytest.param([member("a", kind=tarfile.CHRTYPE)], id="device"),
        pytest.param([member("a", kind=tarfile.BLKTYPE)], id="block device"),
        pytest.param([member("a"), member("a")], id="twice the same"),
        pytest.param([member("a"), member("a/b")], id="below a file"),
        pytest.param([member("big", bytes(5_000_000))], id="bomb"),
        pytest.param([member(str(each)) for each in range(200)], id="too many"),
    ],
)
def test_harmful_tar_is_rejected(fills: list[Fill], tmp_path: Path) -> None:
    archive = tar_of(tmp_path / "a.tar.gz", *fills)
    inside = tmp_path / "inside"
    inside.mkdir()

    with pytest.raises(UnpackError):
        unpack(archive, "a.tar.gz", inside, ExtractionLimit(files=100, size=1_000_000))

    assert {each.name for each in tmp_path.iterdir()} == {"a.tar.gz", "inside"}


@pytest.mark.requirement("registry.unpack-safe")
@pytest.mark.parametrize(
    ("name", "mode", "size"),
    [
        ("../out", stat.S_IFREG, 1),
        ("/tmp/out", stat.S_IFREG, 1),
        ("a\\..\\out", stat.S_IFREG, 1),
        ("link", stat.S_IFLNK, 1),
        ("pipe", stat.S_IFIFO, 1),
        ("device", stat.S_IFCHR, 1),
        ("bomb", stat.S_IFREG, 5_000_000),
    ],
)
def test_harmful_zip_is_rejected(name: str, mode: int, size: int, tmp_path: Path) -> None:
    archive = zip_of(tmp_path / "a.zip", name, bytes(size), mode=mode)
    inside = tmp_path / "inside"
    inside.mkdir()

    with pytest.raises(UnpackError):
        unpack(archive, "a.zip", inside, ExtractionLimit(files=100, size=1_000_000))

    assert {each.name for each in tmp_path.iterdir()} == {"a.zip", "inside"}


@pytest.mark.requirement("registry.unpack-safe")
@pytest.mark.parametrize("name", ["a.tar.gz", "a.tgz", "a.zip"])
@given(noise=st.binary(max_size=200), keep=st.integers(0, 300))
def test_damaged_archive_is_unpacked_or_rejected(
    name: str, noise: bytes, keep: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("damaged")
    whole = place / "whole"
    good = (zip_of(whole, "a") if name == "a.zip" else tar_of(whole, member("a"))).read_bytes()
    archive = place / name
    archive.write_bytes(good[:keep] + noise)
    (place / "inside").mkdir()

    with suppress(UnpackError):
        assert unpack(archive, name, place / "inside", ExtractionLimit())


PACKERS: list[Callable[[bytes], bytes]] = [gzip.compress, bz2.compress, lzma.compress]


def raw_tar(count: int) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for each in range(count):
            member(str(each), os.urandom(2000))(tar)
    return packed.getvalue()


def header(kind: bytes, size: int, name: str = "x") -> bytes:
    """Return a tar header that announces that many bytes."""
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


def packed_of(path: Path, *parts: bytes, zeros: int = 0) -> Path:
    """Write a gzip of these blocks, followed by zeros that compress to almost nothing."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        for part in parts:
            file.write(part)
        for _ in range(zeros // (1 << 20)):
            file.write(bytes(1 << 20))
    return path


GLOBAL = b"20 comment=abcdefgh\n"
SPARSE = (b"0" * 11 + b"1") * 2 * 21 + b"\1" + bytes(7)


@pytest.mark.requirement("registry.unpack-headers")
@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param([header(tarfile.XHDTYPE, 1_500_000_000)], id="pax"),
        pytest.param([header(tarfile.XGLTYPE, 1_500_000_000)], id="global pax"),
        pytest.param([header(tarfile.GNUTYPE_LONGNAME, 1_500_000_000)], id="long name"),
        pytest.param([header(tarfile.GNUTYPE_LONGLINK, 1_500_000_000)], id="long link"),
        pytest.param([header(tarfile.XHDTYPE, (1 << 20) + 1)], id="just too large"),
        pytest.param(
            [header(tarfile.XGLTYPE, 20) + GLOBAL.ljust(512, b"\0")] * 2000, id="many globals"
        ),
        pytest.param(
            [header(tarfile.GNUTYPE_SPARSE, 0)[:482] + b"\1" + bytes(29), SPARSE * 4000],
            id="sparse without end",
        ),
        pytest.param([header(tarfile.DIRTYPE, 39 << 20)], id="a long directory"),
    ],
)
def test_size_of_tar_headers_is_checked_before_reading(blocks: list[bytes], tmp_path: Path) -> None:
    archive = packed_of(tmp_path / "a.tar.gz", *blocks, zeros=40 << 20)
    inside = tmp_path / "inside"
    inside.mkdir()
    tracemalloc.start()
    try:
        with pytest.raises(UnpackError):
            unpack(archive, "a.tar.gz", inside, ExtractionLimit(files=100, size=16_000_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 24 << 20
    assert [each for each in inside.rglob("*") if each.is_file()] == []


@pytest.mark.requirement("registry.unpack-headers")
def test_long_names_and_attributes_within_the_limits_are_unpacked(tmp_path: Path) -> None:
    name = "/".join(["d" * 200] * 5)
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as tar:
        for at in range(50):
            info = tarfile.TarInfo(f"{name}/{at}")
            info.size, info.pax_headers = 1, {"comment": "x" * 60_000}
            tar.addfile(info, io.BytesIO(b"x"))
    inside = tmp_path / "inside"
    inside.mkdir()

    assert unpack(
        tmp_path / "a.tar.gz", "a.tar.gz", inside, ExtractionLimit(files=100, size=10_000_000)
    )
    assert len(list((inside / name).iterdir())) == 50


@pytest.mark.requirement("registry.unpack-headers")
def test_size_of_a_zip_directory_is_checked_before_reading(tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for at in range(140):
            info = zipfile.ZipInfo(f"{at}/" + "n" * 60_000)
            packed.writestr(info, b"")
    inside = tmp_path / "inside"
    inside.mkdir()

    with pytest.raises(UnpackError, match="list of members"):
        unpack(archive, "a.zip", inside, ExtractionLimit())


@pytest.mark.requirement("registry.unpack-headers")
def test_zip_announcing_a_large_directory_is_rejected_unread(tmp_path: Path) -> None:
    archive, inside = tmp_path / "a.zip", tmp_path / "inside"
    inside.mkdir()
    size = 64 << 20
    with archive.open("wb") as packed:
        packed.truncate(size)
        packed.seek(size)
        packed.write(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, size, 0, 0))

    tracemalloc.start()
    try:
        with pytest.raises(UnpackError, match="list of members"):
            unpack(archive, "a.zip", inside, ExtractionLimit())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 16 << 20


@pytest.mark.requirement("registry.unpack-whole")
@pytest.mark.parametrize("pack", PACKERS)
def test_truncated_or_corrupted_archive_is_rejected(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    whole = raw_tar(5)
    (end,) = [at for at in range(0, len(whole), 512) if not whole[at:].strip(b"\0")][:1]
    damaged = [pack(whole[:cut]) for cut in (*range(100, end, 512), *range(512, end + 1, 512))]
    packed = pack(whole)
    damaged += [packed[:-1], packed[: len(packed) // 2]]
    for at in (len(packed) // 2, len(packed) - 9):
        damaged.append(packed[:at] + bytes([packed[at] ^ 1]) + packed[at + 1 :])
    # An invalid header in the middle.
    damaged.append(pack(whole[:2560] + b"?" * 512 + whole[3072:]))
    for number, each in enumerate(damaged):
        archive = tmp_path / f"{number}.tar"
        archive.write_bytes(each)
        inside = tmp_path / str(number)
        inside.mkdir()
        with pytest.raises(UnpackError):
            unpack(archive, "a.tar.gz", inside, ExtractionLimit())
    (tmp_path / "good").write_bytes(packed)
    (tmp_path / "inside").mkdir()
    assert unpack(tmp_path / "good", "a.tar.gz", tmp_path / "inside", ExtractionLimit())
    assert len(list((tmp_path / "inside").iterdir())) == 5


@pytest.mark.requirement("registry.unpack-kinds")
@pytest.mark.parametrize("name", ["a.tar.gz", "A.TGZ", "a.zip"])
def test_executable_bit_is_kept(name: str, tmp_path: Path) -> None:
    if name == "a.zip":
        archive = zip_of(tmp_path / name, "dir/run", b"#!", mode=stat.S_IFREG | 0o755)
    else:
        archive = tar_of(tmp_path / name, member("./dir/run", b"#!", mode=0o755))
    inside = tmp_path / "inside"
    inside.mkdir()

    assert unpack(archive, name, inside, ExtractionLimit())

    program = inside / "dir" / "run"
    assert program.read_bytes() == b"#!"
    assert program.stat().st_mode & 0o777 == 0o755


@pytest.mark.requirement("registry.unpack-kinds")
def test_file_without_an_archive_suffix_is_not_unpacked(tmp_path: Path) -> None:
    (tmp_path / "agent-linux").write_bytes(b"ELF")

    assert not unpack(tmp_path / "agent-linux", "agent-linux", tmp_path, ExtractionLimit())


@pytest.mark.requirement("registry.unpack-safe")
def test_archive_of_exactly_the_limit_is_accepted() -> None:
    room = ExtractionLimit(files=1, size=3)
    room.take_file()
    room.take(3)

    with pytest.raises(UnpackError, match="too many files"):
        room.take_file()
    with pytest.raises(UnpackError, match="too large"):
        room.take(1)


@pytest.mark.requirement("registry.unpack-safe")
@pytest.mark.parametrize("name", ["a.tar.gz", "a.zip"])
def test_empty_directory_is_unpacked(name: str, tmp_path: Path) -> None:
    archive = tmp_path / name
    if name == "a.zip":
        with zipfile.ZipFile(archive, "w") as packed:
            packed.writestr("outer/inner/", b"")
    else:
        tar_of(archive, member("outer/inner", kind=tarfile.DIRTYPE))
    (tmp_path / "to").mkdir()

    assert unpack(archive, name, tmp_path / "to", ExtractionLimit())
    assert (tmp_path / "to/outer/inner").is_dir()

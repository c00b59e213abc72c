"""Unpack untrusted archives: only files and directories, below one directory."""

import bz2
import gzip
import lzma
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, cast

from localio.errors import LocalIOError

TARS: Final = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")

MAX_HEADER: Final = 1024 * 1024
"""Maximum bytes of the headers of one tar member."""

MAX_HEADERS: Final = 128 * 1024 * 1024
"""Maximum bytes of all headers of a tar: 50,000 members with 2.6 KB each."""

MAX_LIST: Final = 8 * 1024 * 1024
"""Maximum bytes of a zip's list of members: 50,000 members with 167 bytes each."""

_TOO_LARGE: Final = "report it to its publisher"
_PIECE: Final = 1024 * 1024
_OPENERS: Final[Mapping[bytes, Callable[[Path], Any]]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
_DRIVE: Final = re.compile(r"[A-Za-z]:")
DAMAGE: Final = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,
    RuntimeError,
)
"""Errors of the archive modules; zipfile raises RuntimeError for a missing password."""


class UnpackError(LocalIOError):
    """An archive is damaged, or contains a disallowed member."""


@dataclass(slots=True)
class ExtractionLimit:
    """Remaining number of files and bytes of an archive."""

    files: int = 50_000
    size: int = 4 * 1024 * 1024 * 1024

    def take_file(self) -> None:
        """Count one member.

        Raises:
            UnpackError: there are too many.
        """
        self.files -= 1
        if self.files < 0:
            raise UnpackError("the archive contains too many files", "")

    def take(self, size: int) -> None:
        """Count written bytes; the sizes declared in the archive are not trusted.

        Raises:
            UnpackError: there are too many.
        """
        self.size -= size
        if self.size < 0:
            raise UnpackError("the unpacked archive is too large", "")


def unpack(archive: Path, name: str, to: Path, room: ExtractionLimit) -> bool:
    """Unpack by file name extension; return False if it is not that of an archive.

    Raises:
        UnpackError: it is rejected or damaged; unpacked files remain.
    """
    lower = name.lower()
    try:
        if lower.endswith(TARS):
            _unpack_tar(archive, to, room)
        elif lower.endswith(".zip"):
            _unpack_zip(archive, to, room)
        else:
            return False
    except DAMAGE as error:
        raise UnpackError(f"{name} cannot be unpacked: {error}", "download it again") from error
    return True


def _unpack_tar(archive: Path, to: Path, room: ExtractionLimit) -> None:
    with _decompressed(archive) as stream, whole_tar(stream, room) as tar:
        for member in tar:
            room.take_file()
            if member.isdir():
                place_below(to, member.name).mkdir(parents=True, exist_ok=True)
            elif member.isreg() and (source := tar.extractfile(member)) is not None:
                with source:
                    write_member(source, place_below(to, member.name), member.mode, room)
            else:
                raise _refused(member.name, "is neither a file nor a directory")


@contextmanager
def whole_tar(stream: IO[bytes], room: ExtractionLimit) -> Generator[tarfile.TarFile]:
    """Open a tar; the end of the block checks that it is complete and undamaged.

    Raises:
        UnpackError: its headers or its contents are too large.
        EOFError: it is truncated, or has an invalid header, where `tarfile` would just stop.
        OSError: a checksum after the last member is wrong.
    """
    # Twice, for padding and headers.
    bounded = _BoundedTar(stream, 2 * room.size)
    with _Tar.open(fileobj=cast("IO[bytes]", bounded), mode="r:") as tar:
        yield tar
    if bounded.last != tarfile.NUL * tarfile.BLOCKSIZE:
        raise EOFError("it is truncated or damaged")
    while piece := stream.read(_PIECE):
        room.take(len(piece))


class _Tar(tarfile.TarFile):
    """A tar with limited headers; `tarfile` reads headers of any size into memory."""

    def next(self) -> tarfile.TarInfo | None:
        """Read the next member with its headers."""
        bounded = cast("_BoundedTar", self.fileobj)
        bounded.header_begins()
        try:
            return super().next()
        finally:
            bounded.header_ends()


class _BoundedTar:
    """A forward-only stream with limits on the read bytes.

    Args:
        stream: contents of the tar.
        most: maximum bytes to read.

    Attributes:
        last: the last block read; at the end of a complete tar, an empty block.
    """

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream = stream
        self._left = most
        self._at = 0
        self._headers = MAX_HEADERS
        self._header: int | None = None
        self.last = b""

    def header_begins(self) -> None:
        """Count the following bytes as headers of one member."""
        self._header = min(MAX_HEADER, self._headers)

    def header_ends(self) -> None:
        """Stop counting headers: the following bytes are a file."""
        self._header = None

    def read(self, size: int = -1) -> bytes:
        if self._header is not None:
            if not 0 <= size <= self._header:
                raise UnpackError("the archive has headers that are too large", _TOO_LARGE)
            self._header -= size
            self._headers -= size
        self.last = self._read(size if size >= 0 else self._left + 1)
        return self.last

    def _read(self, size: int) -> bytes:
        piece = self._stream.read(size)
        self._at += len(piece)
        self._left -= len(piece)
        if self._left < 0:
            raise UnpackError("the unpacked archive is too large", _TOO_LARGE)
        return piece

    def seek(self, to: int) -> int:
        if to < self._at:
            raise UnpackError("the archive refers back to itself", _TOO_LARGE)
        while self._at < to and self._read(min(to - self._at, _PIECE)):
            pass
        return self._at

    def tell(self) -> int:
        return self._at


@contextmanager
def bounded_zip(archive: Path) -> Generator[zipfile.ZipFile]:
    """Open a zip with a limited list of members; `zipfile` reads any list into memory.

    Raises:
        UnpackError: the list is too large.
    """
    with archive.open("rb") as file, zipfile.ZipFile(cast("IO[bytes]", _BoundedZip(file))) as zip_:
        yield zip_


class _BoundedZip:
    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.seek = stream.seek
        self.tell = stream.tell
        self.seekable = stream.seekable

    def read(self, size: int = -1) -> bytes:
        # Without a size, `zipfile` reads only the last 64 KiB, for the comment.
        if size > MAX_LIST:
            raise UnpackError("the archive's list of members is too large", _TOO_LARGE)
        return self._stream.read(size)


def _decompressed(archive: Path) -> IO[bytes]:
    """Open compressed data by its first bytes; file names can be wrong."""
    with archive.open("rb") as file:
        begin = file.read(max(map(len, _OPENERS)))
    for magic, opener in _OPENERS.items():
        if begin.startswith(magic):
            return cast("IO[bytes]", opener(archive))
    return archive.open("rb")


def _unpack_zip(archive: Path, to: Path, room: ExtractionLimit) -> None:
    with bounded_zip(archive) as packed:
        for member in packed.infolist():
            room.take_file()
            mode = member.external_attr >> 16
            kind = stat.S_IFMT(mode)
            if member.is_dir():
                place_below(to, member.filename).mkdir(parents=True, exist_ok=True)
            elif kind in (0, stat.S_IFREG):
                with packed.open(member) as source:
                    write_member(source, place_below(to, member.filename), mode, room)
            else:
                raise _refused(member.filename, "is neither a file nor a directory")


def place_below(to: Path, name: str) -> Path:
    """Path for a member with this name.

    Raises:
        UnpackError: the path is outside of `to`.
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or _DRIVE.match(name):
        raise _refused(name, "would be outside of the directory")
    if "\0" in name:
        raise _refused(name, "has a NUL character in its name")
    return to / path


def write_member(source: IO[bytes], to: Path, mode: int, room: ExtractionLimit) -> None:
    """Write one file, up to the limit.

    Raises:
        UnpackError: the limit is exceeded.
        OSError: it cannot be written, or exists already.
    """
    to.parent.mkdir(parents=True, exist_ok=True)
    # "x": a second member of the same name cannot write through the first.
    with to.open("xb") as file:
        while piece := source.read(_PIECE):
            room.take(len(piece))
            file.write(piece)
    to.chmod(0o755 if mode & 0o111 else 0o644)


def _refused(name: str, why: str) -> UnpackError:
    return UnpackError(
        f"the archive is rejected: {name[:200]!r} {why}", "report it to its publisher"
    )

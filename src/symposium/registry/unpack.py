"""Unpacks what a stranger packed: files and directories below one place, and nothing else."""

import lzma
import re
import stat
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final

from symposium.errors import SymposiumError

TARS: Final = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")

_PIECE: Final = 1024 * 1024
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
"""What the archive modules raise on damage; RuntimeError is how zipfile asks for a password."""


class UnpackError(SymposiumError):
    """An archive is damaged, or holds what no archive of a program should."""


@dataclass(slots=True)
class Room:
    """What an archive may still take up."""

    files: int = 50_000
    size: int = 4 * 1024 * 1024 * 1024

    def take_file(self) -> None:
        """Count one member.

        Raises:
            UnpackError: there are too many.
        """
        self.files -= 1
        if self.files < 0:
            raise UnpackError("the archive holds too many files", "")

    def take(self, size: int) -> None:
        """Count bytes as they are written, whatever the archive says of its sizes.

        Raises:
            UnpackError: there are too many.
        """
        self.size -= size
        if self.size < 0:
            raise UnpackError("the archive grows too large when it is unpacked", "")


def unpack(archive: Path, name: str, to: Path, room: Room) -> bool:
    """Unpack by the ending of its name; False if it is no archive by that.

    Raises:
        UnpackError: it is refused or damaged; what was unpacked by then is left behind.
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


def _unpack_tar(archive: Path, to: Path, room: Room) -> None:
    with tarfile.open(archive, "r:*") as tar:
        for member in tar:
            room.take_file()
            if member.isdir():
                place_below(to, member.name).mkdir(parents=True, exist_ok=True)
            elif member.isreg() and (source := tar.extractfile(member)) is not None:
                with source:
                    write_member(source, place_below(to, member.name), member.mode, room)
            else:
                raise _refused(member.name, "is no file and no directory")


def _unpack_zip(archive: Path, to: Path, room: Room) -> None:
    with zipfile.ZipFile(archive) as packed:
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
                raise _refused(member.filename, "is no file and no directory")


def place_below(to: Path, name: str) -> Path:
    """Where a member of that name belongs.

    Raises:
        UnpackError: outside of `to`.
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or _DRIVE.match(name):
        raise _refused(name, "would lie outside")
    if "\0" in name:
        raise _refused(name, "has a NUL in its name")
    return to / path


def write_member(source: IO[bytes], to: Path, mode: int, room: Room) -> None:
    """Write one file, as far as there is room.

    Raises:
        UnpackError: there is not.
        OSError: it cannot be written, or is there already.
    """
    to.parent.mkdir(parents=True, exist_ok=True)
    # "x": a second member of the same name cannot write through the first.
    with to.open("xb") as file:
        while piece := source.read(_PIECE):
            room.take(len(piece))
            file.write(piece)
    to.chmod(0o755 if mode & 0o111 else 0o644)


def _refused(name: str, why: str) -> UnpackError:
    return UnpackError(f"the archive is refused: {name[:200]!r} {why}", "tell whoever publishes it")

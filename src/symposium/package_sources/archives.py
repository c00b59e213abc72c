"""Unpacks sources: below one place, within bounds, and without any link.

Sources hold links more often than programs do. A link to another member is left out, as what it
leads to is there anyway; one that leads elsewhere makes all of it suspect, as does a device.
"""

import bz2
import gzip
import lzma
import posixpath
import stat
import tarfile
from pathlib import Path
from typing import IO, Final, cast

from localio.archives import (
    DAMAGE,
    Room,
    UnpackError,
    bounded_zip,
    place_below,
    whole_tar,
    write_member,
)
from symposium.package_sources.model import DamagedError

MOST_UNPACKED: Final = 1024 * 1024 * 1024
MOST_FILES: Final = 50_000

_LINK_TEXT: Final = 4096


def unpack_sources(archive: Path, kind: str, to: Path) -> None:
    """Unpack into an empty directory; `kind` is the ending of its name.

    Raises:
        DamagedError: it is refused or damaged; what was unpacked by then is left behind.
    """
    try:
        if kind == ".zip":
            _unpack_zip(archive, to)
        else:
            _unpack_tar(archive, kind, to)
    except UnpackError as error:
        raise DamagedError(error.message, error.hint) from error
    except DAMAGE as error:
        raise DamagedError(f"the archive cannot be unpacked: {error}", "") from error


def _unpack_tar(archive: Path, kind: str, to: Path) -> None:
    room = Room(MOST_FILES, MOST_UNPACKED)
    with (
        _decompressed(archive, kind) as stream,
        whole_tar(cast("IO[bytes]", stream), room) as tar,
    ):
        for member in tar:
            room.take_file()
            _take(tar, member, to, room)


def _take(tar: tarfile.TarFile, member: tarfile.TarInfo, to: Path, room: Room) -> None:
    place = place_below(to, member.name)
    if member.isdir():
        place.mkdir(parents=True, exist_ok=True)
    elif member.issym():
        _check_link(member.name, posixpath.join(posixpath.dirname(member.name), member.linkname))
    elif member.islnk():
        _check_link(member.name, member.linkname)
    elif member.isreg() and (source := tar.extractfile(member)) is not None:
        with source:
            write_member(source, place, member.mode, room)
    else:
        raise UnpackError(f"the archive is refused: {member.name[:200]!r} is a device", "")


def _unpack_zip(archive: Path, to: Path) -> None:
    room = Room(MOST_FILES, MOST_UNPACKED)
    with bounded_zip(archive) as packed:
        for member in packed.infolist():
            room.take_file()
            place = place_below(to, member.filename)
            mode = member.external_attr >> 16
            kind = stat.S_IFMT(mode)
            if member.is_dir():
                place.mkdir(parents=True, exist_ok=True)
            elif kind == stat.S_IFLNK:
                with packed.open(member) as source:
                    target = source.read(_LINK_TEXT).decode(errors="replace")
                folder = posixpath.dirname(member.filename)
                _check_link(member.filename, posixpath.join(folder, target))
            elif kind in (0, stat.S_IFREG):
                with packed.open(member) as source:
                    write_member(source, place, mode, room)
            else:
                raise UnpackError(
                    f"the archive is refused: {member.filename[:200]!r} is a device", ""
                )


def _check_link(name: str, target: str) -> None:
    leads_to = posixpath.normpath(target)
    if leads_to.startswith("/") or leads_to.split("/")[0] == ".." or "\0" in target:
        raise UnpackError(f"the archive is refused: the link {name[:200]!r} leads out of it", "")


def _decompressed(archive: Path, kind: str) -> IO[bytes] | gzip.GzipFile:
    match kind:
        case ".tar.bz2":
            return bz2.open(archive)
        case ".tar.xz":
            return lzma.open(archive)
        case _:
            return gzip.open(archive)

"""Find, download, unpack, and store the source of a package.

Archives of sources often contain links. A link to another member is skipped, because its target is
unpacked anyway. A link to anything else, or a device, makes the whole archive invalid.

A package is unpacked next to its destination and then moved there at once, with a receipt file. A
directory without a receipt is incomplete and is replaced.
"""

import asyncio
import bz2
import gzip
import hashlib
import lzma
import os
import posixpath
import shutil
import stat
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, cast

import msgspec

from localio.archives import (
    DAMAGE,
    ExtractionLimit,
    UnpackError,
    bounded_zip,
    place_below,
    whole_tar,
    write_member,
)
from symposium.code.packages.index_requests import download
from symposium.code.packages.index_settings import cargo_settings, npm_settings, python_settings
from symposium.code.packages.model import (
    DamagedError,
    Ecosystem,
    OfflineError,
    Origin,
    Packages,
    Packed,
    Pinned,
    Release,
    Source,
    SourceLocation,
    UnknownVersionError,
    UnpublishedError,
)
from symposium.code.packages.npm import NpmPackages
from symposium.code.packages.python import Distributions
from symposium.code.packages.rust import Crates
from symposium.code.packages.versions import (
    VersionChoice,
    in_range,
    newest,
    of_project,
    unknown_version,
)
from symposium.config.paths import paths

MAX_UNPACKED: Final = 1024 * 1024 * 1024
MAX_FILES: Final = 50_000

_LINK_TEXT: Final = 4096


def unpack_sources(archive: Path, kind: str, to: Path) -> None:
    """Unpack an archive into an empty directory; `kind` is the ending of its name.

    Raises:
        DamagedError: it is rejected or damaged; files unpacked so far are left behind.
    """
    try:
        if kind == ".zip":
            _unpack_zip(archive, to)
        else:
            _unpack_tar(archive, kind, to)
    except UnpackError as error:
        raise DamagedError(error.message, error.hint) from error
    except DAMAGE as error:
        raise DamagedError(f"could not unpack the archive: {error}", "") from error


def _unpack_tar(archive: Path, kind: str, to: Path) -> None:
    room = ExtractionLimit(MAX_FILES, MAX_UNPACKED)
    with (
        _decompressed(archive, kind) as stream,
        whole_tar(cast("IO[bytes]", stream), room) as tar,
    ):
        for member in tar:
            room.take_file()
            _take(tar, member, to, room)


def _take(tar: tarfile.TarFile, member: tarfile.TarInfo, to: Path, room: ExtractionLimit) -> None:
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
        raise UnpackError(f"archive rejected: {member.name[:200]!r} is a device", "")


def _unpack_zip(archive: Path, to: Path) -> None:
    room = ExtractionLimit(MAX_FILES, MAX_UNPACKED)
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
                raise UnpackError(f"archive rejected: {member.filename[:200]!r} is a device", "")


def _check_link(name: str, target: str) -> None:
    leads_to = posixpath.normpath(target)
    if leads_to.startswith("/") or leads_to.split("/")[0] == ".." or "\0" in target:
        raise UnpackError(f"archive rejected: the link {name[:200]!r} leads outside it", "")


def _decompressed(archive: Path, kind: str) -> IO[bytes] | gzip.GzipFile:
    match kind:
        case ".tar.bz2":
            return bz2.open(archive)
        case ".tar.xz":
            return lzma.open(archive)
        case _:
            return gzip.open(archive)


RECEIPT: Final = "receipt.json"
TREE: Final = "source"


class _Receipt(msgspec.Struct, frozen=True):
    version: str
    files: int


class SourceStore:
    """Stored package sources of one user.

    Args:
        directory: directory; created on first use.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def places(self, ecosystem: Ecosystem, name: str) -> list[SourceLocation]:
        """All stored versions of a package."""
        folder = self._folder(ecosystem, name)
        try:
            versions = sorted(each for each in folder.iterdir() if each.is_dir())
        except OSError:
            return []
        found = ((each, _receipt(each)) for each in versions)
        return [
            SourceLocation(receipt.version, (each / TREE).resolve(), "cache")
            for each, receipt in found
            if receipt
        ]

    def keep(
        self, ecosystem: Ecosystem, name: str, version: str, packed: tuple[Path, str]
    ) -> SourceLocation:
        """Unpack an archive of the given kind and store its content.

        Raises:
            DamagedError: it is rejected, damaged, or empty.
        """
        folder = self._folder(ecosystem, name)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        place = folder / file_name(version)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".") as beside:
            made = Path(beside) / "made"
            tree = made / TREE
            tree.mkdir(parents=True)
            unpack_sources(*packed, tree)
            _lift(tree)
            count = sum(1 for each in tree.rglob("*") if each.is_file())
            if not count:
                raise DamagedError(f"the archive of {name} {version} contains no files", "")
            receipt = msgspec.json.encode(_Receipt(version, count))
            (made / RECEIPT).write_bytes(receipt)
            if place.exists() and _receipt(place) is None:
                shutil.rmtree(place)
            # Another process has stored the same content first.
            with suppress(OSError):
                made.rename(place)
        if _receipt(place) is None:
            raise DamagedError(
                f"could not store {name} {version} in {place}", "check the disk space"
            )
        return SourceLocation(version, (place / TREE).resolve(), "cache")

    def _folder(self, ecosystem: Ecosystem, name: str) -> Path:
        return self._directory / ecosystem.value / file_name(name)


def file_name(name: str) -> str:
    """Unique file name, also on file systems that ignore case."""
    plain = "".join(each if each.isalnum() or each in "-_.@" else "+" for each in name)
    if plain == name and name == name.lower() and not name.startswith("."):
        return name
    return f"{plain.lstrip('.')[:100]}~{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def _receipt(place: Path) -> _Receipt | None:
    try:
        receipt = msgspec.json.decode((place / RECEIPT).read_bytes(), type=_Receipt)
    except (OSError, msgspec.DecodeError):
        return None
    return receipt if (place / TREE).is_dir() else None


def _lift(tree: Path) -> None:
    """Replace a tree that has a single top directory by that directory."""
    entries: Sequence[Path] = list(tree.iterdir())
    if len(entries) != 1 or not entries[0].is_dir():
        return
    (only,) = entries
    # Next to the tree: the directory may contain an entry with its own name.
    inner = only.rename(tree.with_name("lifted"))
    tree.rmdir()
    inner.rename(tree)


_PUBLISHED: Final = "that is published"
_HERE: Final = "on this machine, because no index was reachable for newer ones"
_ORIGINS: Final[dict[Origin, str]] = {
    "project": "installed for the project",
    "tool": "stored by the package tool",
    "cache": "stored earlier",
    "download": "downloaded",
}


def describe(origin: Origin) -> str:
    """Describe the origin of a source."""
    return _ORIGINS[origin]


class SourceFinder:
    """Find sources of one ecosystem for one project.

    Args:
        packages: the ecosystem.
        store: stored sources; receives downloads.
        project: directory of the lock files and installed packages.
    """

    def __init__(self, packages: Packages, store: SourceStore, project: Path) -> None:
        self._packages = packages
        self._store = store
        self._project = project

    async def find(self, name: str, wanted: str | None = None) -> Source:
        """Find the source of a package; download it if necessary.

        Args:
            name: name in any accepted spelling.
            wanted: version range in the ecosystem's syntax; default: the project's version.

        Raises:
            PackageError: it is unavailable; each reason has its own class.
        """
        spelt = self._packages.canonical(name)
        if wanted is not None:
            self._packages.allowed(wanted)
        here = await asyncio.to_thread(self._here, spelt)
        choice, releases = await self._choose(spelt, wanted, here)
        order = self._packages.order(choice.version)
        place = next((each for each in here if self._packages.order(each.version) == order), None)
        if isinstance(place, Packed):
            # Fetch a damaged archive again.
            with suppress(DamagedError):
                place = await self._kept(spelt, place.version, (place.archive, ".tar.gz"))
        if not isinstance(place, SourceLocation):
            place = await self._fetched(spelt, choice, releases)
        return Source(self._packages.ecosystem, spelt, place, choice.why)

    def _here(self, name: str) -> list[SourceLocation | Packed]:
        kept = self._store.places(self._packages.ecosystem, name)
        found = [*self._packages.here(name, self._project), *kept]
        # Unpacked ones before archives; the project's own first.
        return sorted(found, key=lambda each: isinstance(each, Packed))

    async def _choose(
        self, name: str, wanted: str | None, here: Sequence[SourceLocation | Packed]
    ) -> tuple[VersionChoice, Sequence[Release]]:
        packages = self._packages
        versions = [each.version for each in here]
        said_by = "that was requested"
        if wanted is None:
            pinned = await asyncio.to_thread(packages.pinned, name, self._project)
            pinned = pinned or Pinned("")
            if choice := of_project(packages, pinned):
                return choice, ()
            ours = [
                each.version
                for each in here
                if isinstance(each, SourceLocation) and each.origin == "project"
            ]
            if choice := newest(packages, ours, source="that is installed for the project"):
                return choice, ()
            if pinned.elsewhere:
                raise UnpublishedError(
                    f"{name} comes from {pinned.elsewhere} according to {pinned.said_by}",
                    "read it there, or give a version to get the published package",
                )
            wanted, said_by = pinned.wanted, f"that {pinned.said_by} asks for"
        elif exact := packages.exact(wanted):
            same = [each for each in versions if packages.order(each) == packages.order(exact)]
            if same:
                return VersionChoice(same[0], "the requested version"), ()
        try:
            releases = await packages.published(name)
        except OfflineError:
            choice = _of(packages, wanted, versions, source=_HERE)
            if choice is None:
                raise
            return choice, ()
        # Use a yanked release only if nothing else matches.
        standing = [each.version for each in releases if not each.is_yanked]
        published = [each.version for each in releases]
        choice = _of(packages, wanted, standing, source=_PUBLISHED) or _of(
            packages, wanted, published, source=f"{_PUBLISHED}, although it was yanked"
        )
        if choice is None:
            asked = f"{wanted}, {said_by}" if wanted else "published"
            raise unknown_version(packages, name, asked, published)
        return choice, releases

    async def _fetched(
        self, name: str, choice: VersionChoice, releases: Sequence[Release]
    ) -> SourceLocation:
        found = _release(releases, choice.version)
        if found is None:
            found = _release(await self._packages.published(name), choice.version)
        if found is None:
            raise UnknownVersionError(
                f"{name} {choice.version} is not published, and not on this machine", choice.why
            )
        with tempfile.TemporaryDirectory(prefix="symposium-") as beside:
            archive = Path(beside) / "archive"
            await download(
                found.url,
                archive,
                found.checksum,
                what=f"{name} {choice.version}",
                authorization=found.authorization,
            )
            place = await self._kept(name, choice.version, (archive, found.kind))
        return SourceLocation(place.version, place.root, "download", place.parts)

    async def _kept(self, name: str, version: str, packed: tuple[Path, str]) -> SourceLocation:
        ecosystem = self._packages.ecosystem
        return await asyncio.to_thread(self._store.keep, ecosystem, name, version, packed)


def _of(
    packages: Packages, wanted: str | None, versions: Sequence[str], *, source: str
) -> VersionChoice | None:
    if wanted is None:
        return newest(packages, versions, source=source)
    return in_range(packages, wanted, versions, source=source)


def _release(releases: Sequence[Release], version: str) -> Release | None:
    return next((each for each in releases if each.version == version), None)


FOLDER = "package-sources"
"""Directory in the user's cache."""


def source_finder(
    ecosystem: Ecosystem,
    project: Path,
    *,
    interpreter: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> SourceFinder:
    """Source finder of an ecosystem, with the settings of the user's own tools.

    Args:
        ecosystem: the ecosystem.
        project: directory of the project.
        interpreter: Python interpreter to use instead of the project's environment.
        environment: environment variables; default: those of this process.
    """
    env = os.environ if environment is None else environment
    store = SourceStore(paths(env).cache / FOLDER)
    packages: Packages
    match ecosystem:
        case Ecosystem.RUST:
            packages = Crates(cargo_settings(env))
        case Ecosystem.PYTHON:
            packages = Distributions(python_settings(env), env, interpreter)
        case Ecosystem.NPM:
            packages = NpmPackages(npm_settings(env))
    return SourceFinder(packages, store, project)

"""Finds the source of a package: on this machine if it is there, else where it is published."""

import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from symposium.package_sources.asking import download
from symposium.package_sources.choosing import (
    Choice,
    in_range,
    newest,
    of_project,
    unknown_version,
)
from symposium.package_sources.model import (
    DamagedError,
    OfflineError,
    Origin,
    Packages,
    Packed,
    Pinned,
    Place,
    Release,
    Source,
    UnknownVersionError,
    UnpublishedError,
)
from symposium.package_sources.store import SourceStore

_PUBLISHED: Final = "that is published"
_HERE: Final = "on this machine, as nobody could be asked for newer ones"
_ORIGINS: Final[dict[Origin, str]] = {
    "project": "installed for the project",
    "tool": "kept by the package tool",
    "cache": "kept from before",
    "download": "downloaded",
}


def describe(origin: Origin) -> str:
    """Where a source was, in words."""
    return _ORIGINS[origin]


class SourceDesk:
    """The sources of one ecosystem, for one project.

    Args:
        packages: the ecosystem.
        store: what is kept from before, and keeps what is fetched.
        project: the directory whose lock files and installed packages count.
    """

    def __init__(self, packages: Packages, store: SourceStore, project: Path) -> None:
        self._packages = packages
        self._store = store
        self._project = project

    async def find(self, name: str, wanted: str | None = None) -> Source:
        """The source of a package; fetched, if it is not here.

        Args:
            name: as people write it.
            wanted: a range of versions, as the ecosystem writes it; by default the project's.

        Raises:
            PackageError: it cannot be had; each reason is a class of its own.
        """
        spelt = self._packages.canonical(name)
        if wanted is not None:
            self._packages.allowed(wanted)
        here = await asyncio.to_thread(self._here, spelt)
        choice, releases = await self._choose(spelt, wanted, here)
        order = self._packages.order(choice.version)
        place = next((each for each in here if self._packages.order(each.version) == order), None)
        if isinstance(place, Packed):
            # One that is damaged is fetched anew.
            with suppress(DamagedError):
                place = await self._kept(spelt, place.version, (place.archive, ".tar.gz"))
        if not isinstance(place, Place):
            place = await self._fetched(spelt, choice, releases)
        return Source(self._packages.ecosystem, spelt, place, choice.why)

    def _here(self, name: str) -> list[Place | Packed]:
        kept = self._store.places(self._packages.ecosystem, name)
        found = [*self._packages.here(name, self._project), *kept]
        # What is unpacked before what is not; the project's own first.
        return sorted(found, key=lambda each: isinstance(each, Packed))

    async def _choose(
        self, name: str, wanted: str | None, here: Sequence[Place | Packed]
    ) -> tuple[Choice, Sequence[Release]]:
        packages = self._packages
        versions = [each.version for each in here]
        said_by = "that was asked for"
        if wanted is None:
            pinned = await asyncio.to_thread(packages.pinned, name, self._project)
            pinned = pinned or Pinned("")
            if choice := of_project(packages, pinned):
                return choice, ()
            ours = [
                each.version
                for each in here
                if isinstance(each, Place) and each.origin == "project"
            ]
            if choice := newest(packages, ours, source="that is installed for the project"):
                return choice, ()
            if pinned.elsewhere:
                raise UnpublishedError(
                    f"{name} comes from {pinned.elsewhere}, says {pinned.said_by}",
                    "read it there; with a version, the published one of that name is found",
                )
            wanted, said_by = pinned.wanted, f"that {pinned.said_by} asks for"
        elif exact := packages.exact(wanted):
            same = [each for each in versions if packages.order(each) == packages.order(exact)]
            if same:
                return Choice(same[0], "the one that was asked for"), ()
        try:
            releases = await packages.published(name)
        except OfflineError:
            choice = _of(packages, wanted, versions, source=_HERE)
            if choice is None:
                raise
            return choice, ()
        # One that was taken back is for whoever can have nothing else.
        standing = [each.version for each in releases if not each.is_yanked]
        published = [each.version for each in releases]
        choice = _of(packages, wanted, standing, source=_PUBLISHED) or _of(
            packages, wanted, published, source=f"{_PUBLISHED}, though it was taken back"
        )
        if choice is None:
            asked = f"{wanted}, {said_by}" if wanted else "published"
            raise unknown_version(packages, name, asked, published)
        return choice, releases

    async def _fetched(self, name: str, choice: Choice, releases: Sequence[Release]) -> Place:
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
        return Place(place.version, place.root, "download", place.parts)

    async def _kept(self, name: str, version: str, packed: tuple[Path, str]) -> Place:
        ecosystem = self._packages.ecosystem
        return await asyncio.to_thread(self._store.keep, ecosystem, name, version, packed)


def _of(
    packages: Packages, wanted: str | None, versions: Sequence[str], *, source: str
) -> Choice | None:
    if wanted is None:
        return newest(packages, versions, source=source)
    return in_range(packages, wanted, versions, source=source)


def _release(releases: Sequence[Release], version: str) -> Release | None:
    return next((each for each in releases if each.version == version), None)

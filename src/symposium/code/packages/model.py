"""Package requests, results, and errors.

PackageError
├── PackageNameError     the package name is invalid
├── RangeError           the version range is invalid
├── UnknownPackageError  the index has no package with this name
├── UnknownVersionError  the package exists, but not in this version
├── UnpublishedError     the project uses it from a repository or directory, not from an index
├── OfflineError         it is not on this machine, and the network is unavailable
├── DamagedError         the download is not the published archive, or not an archive
└── PatternError         the regular expression is invalid
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from symposium.errors import SymposiumError


class Ecosystem(Enum):
    """Language whose packages can be looked up."""

    RUST = "rust"
    PYTHON = "python"
    NPM = "npm"


Origin: TypeAlias = Literal["project", "tool", "cache", "download"]
"""Installed for the project, stored by the ecosystem's tool, stored by Symposium, or new."""


class PackageError(SymposiumError):
    """The source of a package is unavailable."""


class PackageNameError(PackageError):
    """The package name is invalid."""


class RangeError(PackageError):
    """The version range is invalid."""


class UnknownPackageError(PackageError):
    """No package with this name is published."""


class UnknownVersionError(PackageError):
    """The version is not published."""


class UnpublishedError(PackageError):
    """The project uses the package from another place than an index."""


class OfflineError(PackageError):
    """The package is not on this machine, and its server is unreachable."""


class DamagedError(PackageError):
    """The download differs from the published archive, or has an invalid format."""


class PatternError(PackageError):
    """The regular expression is invalid, or takes too long."""


Kind: TypeAlias = Literal[".tar.gz", ".tar.bz2", ".tar.xz", ".zip"]
"""Archive format, as the ending of the file name."""


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A version with complete sources on this machine.

    Attributes:
        root: directory; no file outside it is read.
        parts: paths of the package relative to it; empty for all.
    """

    version: str
    root: Path
    origin: Origin
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Packed:
    """A version with an archive on this machine."""

    version: str
    archive: Path


@dataclass(frozen=True, slots=True)
class Checksum:
    """Expected checksum of an archive: a hashlib `algorithm`, and hexadecimal digits."""

    algorithm: str
    digits: str


@dataclass(frozen=True, slots=True)
class Release:
    """A version that can be downloaded.

    Attributes:
        authorization: header for the download; usually empty.
    """

    version: str
    url: str
    kind: Kind
    checksum: Checksum | None
    is_yanked: bool = False
    authorization: str = ""


@dataclass(frozen=True, slots=True)
class Pinned:
    """The version that a project uses.

    Attributes:
        versions: exact versions; several if the lock file has several.
        wanted: version range, if there is no exact version.
        said_by: name of the file.
        elsewhere: origin, if not an index.
    """

    said_by: str
    versions: tuple[str, ...] = ()
    wanted: str | None = None
    elsewhere: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A located source.

    Attributes:
        why: reason for this version, as the end of a sentence.
    """

    ecosystem: Ecosystem
    name: str
    place: SourceLocation
    why: str

    @property
    def version(self) -> str:
        """Version of the package that was found."""
        return self.place.version


class Packages(Protocol):
    """An ecosystem: names, versions, and locations of packages."""

    ecosystem: Ecosystem

    def canonical(self, name: str) -> str:
        """Normalize a name.

        Raises:
            PackageNameError: it is invalid.
        """
        ...

    def order(self, version: str) -> tuple[object, ...] | None:
        """Sort key of a version; None if it is invalid."""
        ...

    def is_preview(self, version: str) -> bool:
        """Whether a version is a prerelease."""
        ...

    def allowed(self, wanted: str) -> Callable[[Sequence[str]], list[str]]:
        """Filter for the versions of a range.

        Raises:
            RangeError: it is invalid.
        """
        ...

    def exact(self, wanted: str) -> str | None:
        """The only version in a range; None if there are several."""
        ...

    def pinned(self, name: str, project: Path) -> Pinned | None:
        """Version in the project's files; runs nothing."""
        ...

    def here(self, name: str, project: Path) -> Sequence[SourceLocation | Packed]:
        """Copies on this machine, for the project or shared."""
        ...

    async def published(self, name: str) -> Sequence[Release]:
        """All published releases.

        Raises:
            UnknownPackageError: no package with this name is published.
            OfflineError: no index is reachable.
            DamagedError: the response is malformed.
        """
        ...

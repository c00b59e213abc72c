"""Package requests, results, and errors.

PackageError
├── PackageNameError     what was asked for can be no package's name
├── RangeError           what was asked for is no range of versions
├── UnknownPackageError  the index has no package of this name
├── UnknownVersionError  the package exists, but not in this version
├── UnpublishedError     the project has it from a repository or a directory, and from no index
├── OfflineError         it is not on this machine, and the network cannot be asked
├── DamagedError         what came is not what was published, or no archive of sources
└── PatternError         what was asked for is no regular expression
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from symposium.errors import SymposiumError


class Ecosystem(Enum):
    """Ecosystems of packages."""

    RUST = "rust"
    PYTHON = "python"
    NPM = "npm"


Origin: TypeAlias = Literal["project", "tool", "cache", "download"]
"""Installed for the project; kept by the ecosystem's tool; kept by us; just fetched."""


class PackageError(SymposiumError):
    """The source of a package cannot be had."""


class PackageNameError(PackageError):
    """It can be no package's name."""


class RangeError(PackageError):
    """It is no range of versions."""


class UnknownPackageError(PackageError):
    """No such package is published."""


class UnknownVersionError(PackageError):
    """No such version is published."""


class UnpublishedError(PackageError):
    """The project has it from somewhere that is no index."""


class OfflineError(PackageError):
    """It is not here, and who has it cannot be reached."""


class DamagedError(PackageError):
    """The download differs from the published archive, or has an invalid format."""


class PatternError(PackageError):
    """It is no regular expression, or takes too long."""


Kind: TypeAlias = Literal[".tar.gz", ".tar.bz2", ".tar.xz", ".zip"]
"""How an archive is packed, as the ending of its name."""


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A version whose source is on this machine, in full.

    Attributes:
        root: the directory that nothing is read outside of.
        parts: what of it belongs to the package, relative to it; empty for all.
    """

    version: str
    root: Path
    origin: Origin
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Packed:
    """A version whose archive is on this machine."""

    version: str
    archive: Path


@dataclass(frozen=True, slots=True)
class Checksum:
    """Expected checksum of an archive: a hashlib `algorithm`, and hexadecimal digits."""

    algorithm: str
    digits: str


@dataclass(frozen=True, slots=True)
class Release:
    """A version that can be fetched.

    Attributes:
        authorization: the header that its download needs; empty for most.
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
        versions: exact ones; more than one where the lock has several.
        wanted: a range, where there is no exact one.
        said_by: the file's name.
        elsewhere: where it comes from, if that is no index.
    """

    said_by: str
    versions: tuple[str, ...] = ()
    wanted: str | None = None
    elsewhere: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A found source.

    Attributes:
        why: why this version, as a sentence's end.
    """

    ecosystem: Ecosystem
    name: str
    place: SourceLocation
    why: str

    @property
    def version(self) -> str:
        """The version found."""
        return self.place.version


class Packages(Protocol):
    """One ecosystem: its names, its versions, and where it keeps and publishes packages."""

    ecosystem: Ecosystem

    def canonical(self, name: str) -> str:
        """The one spelling of a name.

        Raises:
            PackageNameError: it can be none.
        """
        ...

    def order(self, version: str) -> tuple[object, ...] | None:
        """A key to sort versions by; None for what is no version."""
        ...

    def is_preview(self, version: str) -> bool:
        """Whether it is not meant for everyone."""
        ...

    def allowed(self, wanted: str) -> Callable[[Sequence[str]], list[str]]:
        """A filter that keeps the versions of a range.

        Raises:
            RangeError: it is no range.
        """
        ...

    def exact(self, wanted: str) -> str | None:
        """The one version that a range allows; None if it allows several."""
        ...

    def pinned(self, name: str, project: Path) -> Pinned | None:
        """Version in the project's files; reads them, and runs nothing."""
        ...

    def here(self, name: str, project: Path) -> Sequence[SourceLocation | Packed]:
        """Copies on this machine, for the project or shared."""
        ...

    async def published(self, name: str) -> Sequence[Release]:
        """All that can be fetched.

        Raises:
            UnknownPackageError: nothing is published under this name.
            OfflineError: no index can be reached.
            DamagedError: the answer cannot be read.
        """
        ...

"""What is looked for and found, and the ways in which that fails.

PackageError
├── PackageNameError     what was asked for can be no package's name
├── RangeError           what was asked for is no range of versions
├── UnknownPackageError  whoever publishes packages says that there is none of this name
├── UnknownVersionError  there is the package, and not in this version
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
    """Where packages come from."""

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
    """What came is not what was published, or is packed in a way that no package is."""


class PatternError(PackageError):
    """It is no regular expression, or takes too long."""


Kind: TypeAlias = Literal[".tar.gz", ".tar.bz2", ".tar.xz", ".zip"]
"""How an archive is packed, as the ending of its name."""


@dataclass(frozen=True, slots=True)
class Place:
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
    """What an archive must be: `algorithm` as hashlib has it, and hexadecimal digits."""

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
    """What a project says about the version that it uses.

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
    """What was found.

    Attributes:
        why: why this version, as a sentence's end.
    """

    ecosystem: Ecosystem
    name: str
    place: Place
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
        """What keeps of some versions those of a range.

        Raises:
            RangeError: it is no range.
        """
        ...

    def exact(self, wanted: str) -> str | None:
        """The one version that a range allows; None if it allows several."""
        ...

    def pinned(self, name: str, project: Path) -> Pinned | None:
        """What the project's files say; reads them, and runs nothing."""
        ...

    def here(self, name: str, project: Path) -> Sequence[Place | Packed]:
        """What is on this machine, for the project or for all."""
        ...

    async def published(self, name: str) -> Sequence[Release]:
        """All that can be fetched.

        Raises:
            UnknownPackageError: nothing is published under this name.
            OfflineError: nobody can be asked.
            DamagedError: the answer cannot be read.
        """
        ...

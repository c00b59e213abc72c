"""What the ways to install have in common: where they build, and what they say of it."""

from dataclasses import dataclass
from pathlib import Path

from symposium.errors import SymposiumError


class InstallError(SymposiumError):
    """An agent could not be installed."""


@dataclass(frozen=True, slots=True)
class Built:
    """What one way has put into a directory.

    Attributes:
        argv: how it is started; a word that begins with `./` is a path in that directory.
        origin: the archive's URL, or the package as it was asked for.
        sha256: of the archive, where there was one.
        is_verified: whether a published sum was the same.
        integrity: the package's own sum, as its registry gives it.
    """

    argv: tuple[str, ...]
    origin: str
    sha256: str | None = None
    is_verified: bool = False
    integrity: str | None = None


def one_program(names: list[str], wanted: str, source: str) -> str:
    """Which of a package's programs is meant: the only one, or the one of the wanted name.

    Raises:
        InstallError: neither; names them.
    """
    if len(names) == 1:
        return names[0]
    if wanted in names:
        return wanted
    if not names:
        raise InstallError(f"{source} holds no program", "it may be a library")
    raise InstallError(f"{source} holds several programs: {', '.join(sorted(names))}", "")


def path_in(directory: Path, place: Path) -> str:
    """A path below a directory, as a receipt writes it."""
    return f"./{place.relative_to(directory).as_posix()}"

"""Which version is meant: the range that was asked for, the project's, else the newest. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from symposium.package_sources.model import Packages, Pinned, UnknownVersionError


@dataclass(frozen=True, slots=True)
class Choice:
    """A version, and why it."""

    version: str
    why: str


def highest(packages: Packages, versions: Iterable[str]) -> str | None:
    """The highest of some versions; None of none."""
    known = ((packages.order(each), each) for each in versions)
    ordered = [(key, each) for key, each in known if key is not None]
    return max(ordered, key=lambda pair: pair[0])[1] if ordered else None


def in_range(
    packages: Packages, wanted: str, versions: Sequence[str], *, source: str
) -> Choice | None:
    """The highest version of a range.

    Args:
        packages: whose reading of ranges and versions counts.
        wanted: the range.
        versions: what there is.
        source: what made them known, for the reason.

    Raises:
        RangeError: it is no range.
    """
    found = highest(packages, packages.allowed(wanted)(versions))
    return None if found is None else Choice(found, f"the highest of {wanted} {source}")


def of_project(packages: Packages, pinned: Pinned) -> Choice | None:
    """The version that a project's file names."""
    found = highest(packages, pinned.versions)
    if found is None:
        return None
    others = [each for each in pinned.versions if each != found]
    more = f", which has {', '.join(others)} too" if others else ""
    return Choice(found, f"as {pinned.said_by} says{more}")


def newest(packages: Packages, versions: Sequence[str], *, source: str) -> Choice | None:
    """The highest version that is no preview; a preview where there is nothing else."""
    finished = [each for each in versions if not packages.is_preview(each)]
    found = highest(packages, finished or versions)
    return None if found is None else Choice(found, f"the newest {source}")


def unknown_version(
    packages: Packages, name: str, wanted: str, versions: Sequence[str]
) -> UnknownVersionError:
    """The error where nothing is in the range; names what there is."""
    ordered = sorted(
        (each for each in versions if packages.order(each) is not None),
        key=lambda each: packages.order(each) or (),
    )
    shown = ", ".join(ordered[-5:][::-1])
    return UnknownVersionError(
        f"no version of {name} is {wanted}", f"the newest are {shown}" if shown else ""
    )

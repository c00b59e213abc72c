"""Semantic versions, ranges, and the choice of a version.

No I/O. Partial versions in comparisons are read as in npm's `semver`. Cargo and npm differ in the
separators of comparisons and the meaning of a bare version (semver.org, their references).
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from symposium.code.packages.model import Packages, Pinned, UnknownVersionError

MAX_VERSION_CHARACTERS: Final = 256
"""Maximum length of a version or range, in characters; longer ones are rejected unparsed."""

_NUMBER: Final = r"(?:0|[1-9][0-9]*)"
_VERSION: Final = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?"
)
_PART: Final = rf"(?:{_NUMBER}|[xX*])"
_COMPARISON: Final = re.compile(
    rf"(?P<sign>\^|~>?|>=|<=|>|<|=)?\s*v?(?P<major>{_PART})(?:\.(?P<minor>{_PART})"
    rf"(?:\.(?P<patch>{_PART})(?:-(?P<pre>[0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?)?)?"
)
_HYPHEN: Final = re.compile(r"\s*(\S+)\s+-\s+(\S+)\s*")

Numbers: TypeAlias = tuple[int, int, int]
Sign: TypeAlias = Literal[">=", ">", "<=", "<", "="]


@dataclass(frozen=True, slots=True)
class Version:
    """A version without the part after `+`."""

    numbers: Numbers
    pre: tuple[int | str, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """Sort key: numbers before words, and a prerelease before its release."""
        pre = tuple((0, each, "") if isinstance(each, int) else (1, 0, each) for each in self.pre)
        return (*self.numbers, not pre, pre)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Lower or upper bound of a version range."""

    sign: Sign
    version: Version

    def holds(self, version: Version) -> bool:
        """Whether a version satisfies the bound."""
        ours, bound = version.key, self.version.key
        match self.sign:
            case ">=":
                return ours >= bound
            case ">":
                return ours > bound
            case "<=":
                return ours <= bound
            case "<":
                return ours < bound
            case "=":
                return ours == bound


@dataclass(frozen=True, slots=True)
class Range:
    """Alternatives, each with comparisons that must all be satisfied."""

    alternatives: tuple[tuple[Comparison, ...], ...]

    def allows(self, version: Version) -> bool:
        """Whether a version is in the range; a prerelease only if the range names its numbers."""
        return any(_allows(each, version) for each in self.alternatives)


_ANY: Final = (Comparison(">=", Version((0, 0, 0))),)
_SIGNS: Final[dict[str, Sign]] = {each: each for each in get_args(Sign)}


def parse_version(text: str) -> Version | None:
    """Parse a version; None if the text is invalid."""
    found = _VERSION.fullmatch(text) if len(text) <= MAX_VERSION_CHARACTERS else None
    if found is None:
        return None
    major, minor, patch, pre = found.groups()
    return Version((int(major), int(minor), int(patch)), _pre(pre))


def parse_cargo_range(text: str) -> Range | None:
    """Parse a Cargo requirement; None if it is invalid."""
    if len(text) > MAX_VERSION_CHARACTERS:
        return None
    read = [_comparison(each, bare="^") for each in text.split(",")]
    return _one(read)


def parse_npm_range(text: str) -> Range | None:
    """Parse an npm range; None if it is not one (a tag such as `latest`, a URL)."""
    if len(text) > MAX_VERSION_CHARACTERS:
        return None
    alternatives = [_npm_alternative(each) for each in text.split("||")]
    known = [each for each in alternatives if each is not None]
    return Range(tuple(known)) if len(known) == len(alternatives) else None


def _npm_alternative(text: str) -> tuple[Comparison, ...] | None:
    if hyphen := _HYPHEN.fullmatch(text):
        first, last = (
            _comparison(sign + end, bare="=")
            for sign, end in zip((">=", "<="), hyphen.groups(), strict=True)
        )
        return None if first is None or last is None else (*first, *last)
    if not text.strip():
        return _ANY
    # White space is allowed between operator and version.
    words = re.sub(r"(\^|~>?|>=|<=|>|<|=)\s+", r"\1", text.strip()).split()
    one = _one([_comparison(each, bare="=") for each in words])
    return None if one is None else one.alternatives[0]


def _one(read: list[tuple[Comparison, ...] | None]) -> Range | None:
    known = [each for each in read if each is not None]
    if len(known) != len(read):
        return None
    return Range((tuple(bound for each in known for bound in each),))


def _comparison(text: str, *, bare: str) -> tuple[Comparison, ...] | None:
    found = _COMPARISON.fullmatch(text.strip())
    if found is None:
        return None
    given: list[int] = []
    for part in (found["major"], found["minor"], found["patch"]):
        if part is None or part in "xX*":
            break
        given.append(int(part))
    has_star = any((found[each] or "0") in "xX*" for each in ("major", "minor", "patch"))
    # A star matches any version, whatever a bare version means.
    sign = found["sign"] or ("=" if has_star else bare)
    whole = len(given) == len(("major", "minor", "patch"))
    return _bounds(sign, given, _pre(found["pre"]) if whole else ())


def _bounds(sign: str, given: list[int], pre: tuple[int | str, ...]) -> tuple[Comparison, ...]:
    low = Version(_filled(given), pre)
    if not given:
        nothing = (Comparison("<", Version((0, 0, 0), (0,))),)
        return nothing if sign in {"<", ">"} else _ANY
    match sign:
        case "^":
            at = next((at for at, each in enumerate(given) if each), len(given) - 1)
            return _up_to(low, given, at)
        case "~" | "~>":
            return _up_to(low, given, min(len(given), 2) - 1)
        case _ if len(given) == len(low.numbers):
            return (Comparison(_SIGNS[sign], low),)
        case _:
            return _of_partial(sign, low, given)


def _of_partial(sign: str, low: Version, given: list[int]) -> tuple[Comparison, ...]:
    above = Version(_next(given, len(given) - 1))
    match sign:
        case ">":
            return (Comparison(">=", above),)
        case "<=":
            return (Comparison("<", above),)
        case "=":
            return Comparison(">=", low), Comparison("<", above)
        case _:
            return (Comparison(_SIGNS[sign], low),)


def _up_to(low: Version, given: list[int], at: int) -> tuple[Comparison, ...]:
    return Comparison(">=", low), Comparison("<", Version(_next(given, at)))


def _filled(given: list[int]) -> Numbers:
    major, minor, patch = [*given, 0, 0, 0][:3]
    return major, minor, patch


def _next(given: list[int], at: int) -> Numbers:
    """First version after all with the same numbers up to this position."""
    return _filled([*given[:at], given[at] + 1])


def _allows(bounds: tuple[Comparison, ...], version: Version) -> bool:
    if not all(each.holds(version) for each in bounds):
        return False
    named = (each.version for each in bounds)
    return not version.pre or any(each.pre and each.numbers == version.numbers for each in named)


def _pre(text: str | None) -> tuple[int | str, ...]:
    parts = text.split(".") if text else []
    return tuple(int(each) if each.isdigit() else each for each in parts)


class SemanticVersions:
    """Order and choice of semantic versions, for packages of Cargo and npm."""

    def order(self, version: str) -> tuple[object, ...] | None:
        read = parse_version(version)
        return None if read is None else read.key

    def is_preview(self, version: str) -> bool:
        """Whether it contains `-`."""
        read = parse_version(version)
        return read is None or bool(read.pre)


def allowed_by(wanted: Range) -> Callable[[Sequence[str]], list[str]]:
    """A filter for the versions in a range."""

    def keep(versions: Sequence[str]) -> list[str]:
        parsed = ((each, parse_version(each)) for each in versions)
        return [each for each, version in parsed if version and wanted.allows(version)]

    return keep


@dataclass(frozen=True, slots=True)
class VersionChoice:
    """A version and the reason for it."""

    version: str
    why: str


def highest(packages: Packages, versions: Iterable[str]) -> str | None:
    """Highest version; None if empty."""
    known = ((packages.order(each), each) for each in versions)
    ordered = [(key, each) for key, each in known if key is not None]
    return max(ordered, key=lambda pair: pair[0])[1] if ordered else None


def in_range(
    packages: Packages, wanted: str, versions: Sequence[str], *, source: str
) -> VersionChoice | None:
    """Highest version in a range.

    Args:
        packages: ecosystem of the range and the versions.
        wanted: version range.
        versions: available versions.
        source: origin of the versions, for the reason.

    Raises:
        RangeError: the range is invalid.
    """
    found = highest(packages, packages.allowed(wanted)(versions))
    return None if found is None else VersionChoice(found, f"the highest of {wanted} {source}")


def of_project(packages: Packages, pinned: Pinned) -> VersionChoice | None:
    """The version named by a project's file."""
    found = highest(packages, pinned.versions)
    if found is None:
        return None
    others = [each for each in pinned.versions if each != found]
    more = f", which has {', '.join(others)} too" if others else ""
    return VersionChoice(found, f"as {pinned.said_by} says{more}")


def newest(packages: Packages, versions: Sequence[str], *, source: str) -> VersionChoice | None:
    """Highest release; the highest prerelease if there is no release."""
    finished = [each for each in versions if not packages.is_preview(each)]
    found = highest(packages, finished or versions)
    return None if found is None else VersionChoice(found, f"the newest {source}")


def unknown_version(
    packages: Packages, name: str, wanted: str, versions: Sequence[str]
) -> UnknownVersionError:
    """Error for a range without versions, with the newest available ones."""
    ordered = sorted(
        (each for each in versions if packages.order(each) is not None),
        key=lambda each: packages.order(each) or (),
    )
    shown = ", ".join(ordered[-5:][::-1])
    return UnknownVersionError(
        f"no version of {name} matches {wanted}", f"the newest are {shown}" if shown else ""
    )

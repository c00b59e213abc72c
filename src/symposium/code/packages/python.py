"""Python distributions: installed ones of the project, then a simple index.

Installed ones are read as files (PEP 376, "Recording installed projects"): no interpreter runs and
nothing is imported.
"""

import csv
import html.parser
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from localio.http import without_secret
from peerwire.jsonrpc.values import as_list, as_object
from symposium.code.packages.index_requests import ask
from symposium.code.packages.index_settings import PythonSettings
from symposium.code.packages.lock_files import python_pin
from symposium.code.packages.model import (
    Checksum,
    DamagedError,
    Ecosystem,
    Kind,
    OfflineError,
    PackageNameError,
    Packed,
    Pinned,
    RangeError,
    Release,
    SourceLocation,
    UnknownPackageError,
)
from symposium.code.packages.project_files import text_of, upward

_NAMES: Final = (".venv", "venv")
_SITES: Final = ("site-packages", "dist-packages")
_MARK: Final = "pyvenv.cfg"
_ABOVE: Final = 2
"""Index of the environment among the parents of `lib/python3.x/site-packages`."""


def site_directories(
    project: Path, env: Mapping[str, str], interpreter: Path | None = None
) -> Iterator[Path]:
    """Directories of installed distributions, most likely first, without duplicates.

    Args:
        project: its `.venv` is used, or that of a parent directory.
        env: its `VIRTUAL_ENV` is used.
        interpreter: use only this interpreter's distributions.
    """
    seen: set[Path] = set()
    for prefix, is_named in _prefixes(project, env, interpreter):
        for found in sorted(prefix.glob("lib/python3*/*-packages"), reverse=True):
            # An environment in a workspace may be a link; it must point to a real environment.
            site = found.resolve()
            if site.name not in _SITES or len(site.parents) <= _ABOVE or site in seen:
                continue
            if is_named or (site.parents[_ABOVE] / _MARK).is_file():
                seen.add(site)
                yield site


def _prefixes(
    project: Path, env: Mapping[str, str], interpreter: Path | None
) -> Iterator[tuple[Path, bool]]:
    if interpreter is not None:
        # Not resolved: the link identifies the environment, its target only the Python.
        yield interpreter.absolute().parent.parent, True
        return
    for folder in upward(project):
        for name in _NAMES:
            yield folder / name, False
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if value := env.get(name):
            yield Path(value), True


_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?")
_MAX_RANGE: Final = 256
_DEEP: Final = 3
_SIMPLE: Final = (("Accept", "application/vnd.pypi.simple.v1+json, text/html;q=0.5"),)
_KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


class Distributions:
    """Find Python distributions in an environment, or on the package index."""

    ecosystem = Ecosystem.PYTHON

    def __init__(
        self, settings: PythonSettings, env: Mapping[str, str], interpreter: Path | None = None
    ) -> None:
        self._settings = settings
        self._env = env
        self._interpreter = interpreter

    def canonical(self, name: str) -> str:
        """Name normalized by PEP 503."""
        if not _NAME.fullmatch(name):
            raise PackageNameError(
                f"{name[:80]!r} is not a valid Python distribution name", "check the name"
            )
        return canonicalize_name(name)

    def order(self, version: str) -> tuple[object, ...] | None:
        """Order by PEP 440."""
        read = _version(version)
        return None if read is None else (read,)

    def is_preview(self, version: str) -> bool:
        """Whether it is a prerelease by PEP 440."""
        read = _version(version)
        return read is None or read.is_prerelease

    def allowed(self, wanted: str) -> Callable[[Sequence[str]], list[str]]:
        """Range by PEP 440; a bare version means exactly that one."""
        exact = self.exact(wanted)
        try:
            read = SpecifierSet(f"=={exact}" if exact else wanted[:_MAX_RANGE])
        except InvalidSpecifier as error:
            raise RangeError(
                f"{wanted[:80]!r} is not a version specifier", "write 1.2.3, ~=1.2 or >=1,<2"
            ) from error
        return lambda versions: list(read.filter(each for each in versions if _version(each)))

    def exact(self, wanted: str) -> str | None:
        """The version, alone or after `==`."""
        text = wanted.strip().removeprefix("==").strip()
        return text if len(text) <= _MAX_RANGE and _version(text) else None

    def pinned(self, name: str, project: Path) -> Pinned | None:
        """Version in the lock file, or in the project's requirements."""
        return python_pin(project, lambda other: canonicalize_name(other) == name)

    def here(self, name: str, project: Path) -> Sequence[SourceLocation | Packed]:
        """Installed copies of the package in the project."""
        sites = site_directories(project, self._env, self._interpreter)
        return [each for site in sites for each in _installed(name, site)]

    async def published(self, name: str) -> Sequence[Release]:
        """Releases in the first index that has the name (PEP 503 and 691)."""
        what = f"the Python distribution {name}"
        if self._settings.problem or not self._settings.indexes:
            reason = self._settings.problem or "pip and uv have no index that can be used"
            raise OfflineError(f"{what} is not on this machine; {reason}", "")
        for index in self._settings.indexes:
            try:
                url = f"{index.rstrip('/')}/{name}/"
                body = await ask(url, what=what, headers=_SIMPLE)
            except UnknownPackageError:
                if index == self._settings.indexes[-1]:
                    raise
                continue
            return _releases(name, url, body)
        raise AssertionError


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


def _installed(name: str, site: Path) -> Iterator[SourceLocation]:
    for info in sorted(site.glob("*.dist-info")):
        its_name, _, version = info.name.removesuffix(".dist-info").rpartition("-")
        if not its_name or canonicalize_name(its_name) != name or not _version(version):
            continue
        rows = csv.reader((text_of(info / "RECORD") or "").splitlines())
        files = [row[0].split("/") for row in rows if row and not row[0].startswith(("/", ".."))]
        parts = tuple(sorted(set(_tops([each for each in files if ".." not in each], _DEEP))))
        # An editable install only stores its location.
        if any(not each.endswith((".dist-info", ".pth")) for each in parts):
            yield SourceLocation(version, site, "project", parts)


def _tops(files: Sequence[Sequence[str]], deep: int) -> Iterator[str]:
    """Top directories of the distribution, and files outside of them."""
    by_first: dict[str, list[Sequence[str]]] = {}
    for file in files:
        by_first.setdefault(file[0], []).append(file[1:])
    for first, rest in by_first.items():
        if first == "__pycache__":
            continue
        is_file = rest == [[]]
        is_own = first.endswith(".dist-info") or any(len(each) == 1 for each in rest)
        if is_file or is_own or not deep:
            yield first
        else:
            # A namespace shared by several distributions, such as `google`.
            yield from (
                f"{first}/{each}" for each in _tops([each for each in rest if each], deep - 1)
            )


def _releases(name: str, url: str, body: bytes) -> list[Release]:
    files = _of_json(body) if body.lstrip().startswith(b"{") else _of_html(body)
    best: dict[str, tuple[int, Release]] = {}
    for file, link, digest, is_yanked in files:
        packed = _file(name, file)
        if packed is None:
            continue
        version, kind, rank = packed
        address = urljoin(without_secret(url)[0], link)
        same_host = urlsplit(address).netloc == urlsplit(without_secret(url)[0]).netloc
        secret = without_secret(url)[1] if same_host else ""
        release = Release(version, address, kind, digest, is_yanked=is_yanked, authorization=secret)
        known = best.get(version)
        if known is None or rank < known[0]:
            best[version] = rank, release
    return [each for _, each in best.values()]


def _file(name: str, file: str) -> tuple[str, Kind, int] | None:
    """Version of a file, its archive format, and its rank.

    A source distribution includes tests and examples; a wheel for any platform has all of the code.
    """
    try:
        if file.endswith(".whl"):
            _, version, _, tags = parse_wheel_filename(file)
            return str(version), ".zip", 1 if any(tag.platform == "any" for tag in tags) else 2
    except InvalidWheelFilename:
        return None
    kind: Kind | None = next((each for each in _KINDS if file.endswith(each)), None)
    its_name, _, text = file.removesuffix(kind or "").rpartition("-")
    version = _version(text)
    if kind is None or version is None or canonicalize_name(its_name) != name:
        return None
    return str(version), kind, 0


def _of_json(body: bytes) -> Iterator[tuple[str, str, Checksum | None, bool]]:
    try:
        answer: Mapping[str, Any] = as_object(msgspec.json.decode(body))
    except (msgspec.DecodeError, RecursionError) as error:
        raise DamagedError(f"the index returned an invalid file list: {error}", "") from error
    for row in map(as_object, as_list(answer.get("files"))):
        digits = as_object(row.get("hashes")).get("sha256")
        digest = Checksum("sha256", digits) if isinstance(digits, str) else None
        yield str(row.get("filename")), str(row.get("url")), digest, bool(row.get("yanked"))


def _of_html(body: bytes) -> Iterator[tuple[str, str, Checksum | None, bool]]:
    reading = _Links()
    reading.feed(body.decode(errors="replace"))
    for attributes in reading.found:
        link, fragment = urldefrag(attributes.get("href") or "")
        algorithm, _, digits = fragment.partition("=")
        known = algorithm in {"sha256", "sha384", "sha512"} and digits
        file = unquote(urlsplit(link).path.rpartition("/")[2])
        yield (
            file,
            link,
            Checksum(algorithm, digits) if known else None,
            "data-yanked" in attributes,
        )


class _Links(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found.append(dict(attrs))

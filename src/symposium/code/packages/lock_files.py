"""Versions that lock files pin.

A malformed file, or one of an unknown format, is skipped; the next one counts.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from peerwire.jsonrpc.values import as_list, as_object
from symposium.code.packages.model import Pinned
from symposium.code.packages.project_files import (
    json_of,
    text_of,
    toml_of,
    upward,
)

Same: TypeAlias = Callable[[str], bool]
"""Compares a name with the requested one."""

_REQUIREMENT: Final = re.compile(
    r"\s*(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(?P<range>\(?[<>=!~][^;#\\]*)?"
)
_UNPUBLISHED: Final = ("path", "git", "directory", "editable", "virtual", "url", "file")
"""Kinds of sources other than an index, as named by uv and Poetry."""

_SHOWN: Final = 200
_NPM_KEY: Final = re.compile(
    r"""^  ['"]?/?(@?[^@'"()\s]+?)[@/]v?([0-9]+\.[0-9]+\.[0-9]+[^:'"()\s_]*)"""
)
_YARN_VERSION: Final = re.compile(r"""\s+version:?\s+"?([^"\s]+)"?\s*$""")
_YARN_NAME: Final = re.compile(r"""^(@?[^@]+)@""")


def cargo_pin(project: Path, same: Same) -> Pinned | None:
    """Find the locked version of a crate in Cargo.lock."""
    return _first(project, {"Cargo.lock": _cargo_lock}, same)


def python_pin(project: Path, same: Same) -> Pinned | None:
    """Version in the lock file of a Python project, or in its requirements."""
    readers: dict[str, Reader] = {
        "uv.lock": _tables("package"),
        "poetry.lock": _tables("package"),
        "pdm.lock": _tables("package"),
        "pylock.toml": _tables("packages"),
        "Pipfile.lock": _pipfile,
    }
    return _first(project, readers, same) or _required(project, same)


def npm_pin(project: Path, same: Same) -> Pinned | None:
    """Version in the lock file of a JavaScript project, or in its package.json."""
    readers: dict[str, Reader] = {
        "package-lock.json": _package_lock,
        "npm-shrinkwrap.json": _package_lock,
        "pnpm-lock.yaml": _pnpm_lock,
        "yarn.lock": _yarn_lock,
    }
    return _first(project, readers, same) or _asked_of_npm(project, same)


Reader: TypeAlias = Callable[[Path, Same], Iterable[tuple[str, str]]]
"""Returns versions with their origin, which is empty for published ones."""


def _first(project: Path, readers: Mapping[str, Reader], same: Same) -> Pinned | None:
    for folder in upward(project):
        for name, read in readers.items():
            found = dict(read(folder / name, same))
            published = tuple(version for version, place in found.items() if not place)
            if found:
                places = [place for place in found.values() if place]
                return Pinned(name, published, elsewhere="" if published else places[0][:_SHOWN])
    return None


def _published(versions: Iterable[str]) -> Iterator[tuple[str, str]]:
    return ((each, "") for each in versions)


def _cargo_lock(file: Path, same: Same) -> Iterator[tuple[str, str]]:
    for version, row in _rows(file, "package", same):
        source = row.get("source")
        # Packages of the workspace have no source.
        place = source if isinstance(source, str) else "the workspace"
        yield version, "" if place.startswith(("registry+", "sparse+")) else place


def _tables(key: str) -> Reader:
    """Reader for an array of tables with `name`, `version`, and optional `source`."""

    def read(file: Path, same: Same) -> Iterator[tuple[str, str]]:
        for version, row in _rows(file, key, same):
            source = as_object(row.get("source"))
            # Poetry has the kind in `type`, uv in the name of the member.
            kinds = [source["type"]] if "type" in source else source
            kind = next((each for each in _UNPUBLISHED if each in kinds), None)
            yield version, f"{kind} {source.get('url', source.get(kind))}" if kind else ""

    return read


def _rows(file: Path, key: str, same: Same) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for row in map(as_object, as_list(toml_of(file).get(key))):
        name, version = row.get("name"), row.get("version")
        if isinstance(name, str) and same(name) and isinstance(version, str):
            yield version, row


def _pipfile(file: Path, same: Same) -> Iterator[tuple[str, str]]:
    lock = json_of(file)
    groups = (as_object(lock.get(each)) for each in ("default", "develop"))
    rows = (as_object(row) for group in groups for name, row in group.items() if same(name))
    versions = (str(row.get("version", "")) for row in rows)
    return _published(each[2:] for each in versions if each.startswith("=="))


def _required(project: Path, same: Same) -> Pinned | None:
    for folder in upward(project):
        for said_by, text in _requirements(folder):
            found = _REQUIREMENT.match(text)
            if found is None or not same(found["name"]):
                continue
            wanted = (found["range"] or "").strip("() \t\r")
            if wanted.startswith("==") and "," not in wanted and "*" not in wanted:
                return Pinned(said_by, (wanted.lstrip("= "),))
            if wanted:
                return Pinned(said_by, wanted=wanted)
    return None


def _requirements(folder: Path) -> Iterator[tuple[str, str]]:
    for name in ("requirements.txt", "requirements-dev.txt", "dev-requirements.txt"):
        for line in (text_of(folder / name) or "").splitlines():
            yield name, line
    project = toml_of(folder / "pyproject.toml")
    table = as_object(project.get("project"))
    lists = [table.get("dependencies")]
    lists += as_object(table.get("optional-dependencies")).values()
    lists += as_object(project.get("dependency-groups")).values()
    for listed in lists:
        for each in as_list(listed):
            if isinstance(each, str):
                yield "pyproject.toml", each


def _package_lock(file: Path, same: Same) -> Iterator[tuple[str, str]]:
    lock = json_of(file)
    direct: list[str] = []
    nested: list[str] = []
    for path, row in as_object(lock.get("packages")).items():
        above, _, name = path.rpartition("node_modules/")
        version = as_object(row).get("version")
        if path and same(name) and isinstance(version, str):
            (nested if above else direct).append(version)
    # Format of npm up to version 6.
    row = next(
        (row for name, row in as_object(lock.get("dependencies")).items() if same(name)), None
    )
    if isinstance(version := as_object(row).get("version"), str):
        direct.append(version)
    return _published(direct[:1] or nested)


def _pnpm_lock(file: Path, same: Same) -> Iterator[tuple[str, str]]:
    versions: list[str] = []
    section = ""
    for line in (text_of(file) or "").splitlines():
        if line and not line[0].isspace():
            section = line.rstrip(": ")
        elif section == "packages" and (found := _NPM_KEY.match(line)) and same(found[1]):
            versions.append(found[2])
    return _published(versions)


def _yarn_lock(file: Path, same: Same) -> Iterator[tuple[str, str]]:
    versions: list[str] = []
    is_ours = False
    for line in (text_of(file) or "").splitlines():
        if line and not line[0].isspace():
            found = _YARN_NAME.match(line.strip("\"'"))
            is_ours = found is not None and same(found[1])
        elif is_ours and (said := _YARN_VERSION.match(line)):
            versions.append(said[1])
            is_ours = False
    return _published(versions)


def _asked_of_npm(project: Path, same: Same) -> Pinned | None:
    for folder in upward(project):
        manifest: Mapping[str, Any] = json_of(folder / "package.json")
        for key in ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies"):
            for name, wanted in as_object(manifest.get(key)).items():
                if same(name) and isinstance(wanted, str) and wanted[:1] in "^~<>=*0123456789x":
                    return Pinned("package.json", wanted=wanted)
    return None

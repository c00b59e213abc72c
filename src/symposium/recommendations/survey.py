"""Looks at a workspace: reads its lock files and manifests as data, and starts nothing."""

import fnmatch
import json
import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeAlias

from localio.files import regular_content
from symposium.recommendations.cargo_names import crates_of_lock, crates_of_manifests
from symposium.recommendations.facts import Ecosystem, Facts, canonical
from symposium.recommendations.npm_names import packages_of_manifest, workspaces_of
from symposium.recommendations.predicate import FileExists, Leaf, Uses
from symposium.recommendations.python_names import (
    packages_of_project,
    packages_of_requirements,
    packages_of_uv_lock,
)
from symposium.recommendations.tables import list_of, table_of, text_of

MOST_BYTES: Final = 8 * 1024 * 1024
"""Of one file; a lock file of some thousand packages has one."""

MOST_MEMBERS: Final = 500
"""Directories of one workspace whose manifests are read."""

_Parse: TypeAlias = Callable[[str], Any]


def survey(workspace: Path, leaves: Iterable[Leaf]) -> Facts:
    """What these conditions ask about; what no condition asks about is not read."""
    asked = list(leaves)
    files = {leaf.path for leaf in asked if isinstance(leaf, FileExists)}
    wanted: set[Ecosystem] = {leaf.ecosystem for leaf in asked if isinstance(leaf, Uses)}
    reader = _Reader(workspace)
    packages: dict[Ecosystem, frozenset[str]] = {}
    for ecosystem in wanted:
        names = _FINDERS[ecosystem](reader)
        packages[ecosystem] = frozenset(canonical(ecosystem, name) for name in names if name)
    there = frozenset(path for path in files if _is_there(workspace / path))
    return Facts(there, packages, tuple(reader.troubles))


class _Reader:
    """Reads files of one workspace; what cannot be read is noted and counts as missing."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self.troubles: list[str] = []

    def toml(self, name: str) -> Mapping[str, Any] | None:
        """A TOML file; None if there is none."""
        return self._table(name, tomllib.loads)

    def json(self, name: str) -> Mapping[str, Any] | None:
        """A JSON file; None if there is none."""
        return self._table(name, json.loads)

    def text(self, name: str) -> str | None:
        """A text file; None if there is none, or none that can be read."""
        try:
            return regular_content(self._workspace / name, MOST_BYTES).decode()
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            self.troubles.append(f"{name}: {error}")
            return None

    def matching(self, pattern: str) -> Iterator[str]:
        """The directories that a pattern such as `crates/*` names; `**` and ways out are not."""
        parts = PurePosixPath(pattern).parts
        if PurePosixPath(pattern).is_absolute() or {"..", "**"} & set(parts):
            return
        found = [""]
        for part in parts:
            found = [name for base in found for name in self._below(base, part)][:MOST_MEMBERS]
        yield from found

    def names(self, pattern: str) -> list[str]:
        """The names in the workspace itself that a pattern matches."""
        return list(self._below("", pattern))

    def _below(self, base: str, part: str) -> Iterator[str]:
        if not any(each in part for each in "*?["):
            yield str(PurePosixPath(base, part))
            return
        try:
            names = sorted(os.listdir(self._workspace / base))  # noqa: PTH208 - names, no paths
        except OSError:
            return
        for name in fnmatch.filter(names, part)[:MOST_MEMBERS]:
            yield str(PurePosixPath(base, name))

    def _table(self, name: str, parse: _Parse) -> Mapping[str, Any] | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            return table_of(parse(text))
        except (ValueError, RecursionError) as error:
            self.troubles.append(f"{name}: {error}")
            return None


def _crates(reader: _Reader) -> Iterable[str]:
    lock = reader.toml("Cargo.lock")
    if lock is not None:
        return crates_of_lock(lock)
    root = reader.toml("Cargo.toml") or {}
    patterns = map(text_of, list_of(table_of(root.get("workspace")).get("members")))
    places = [place for pattern in patterns for place in reader.matching(pattern)]
    members = (reader.toml(f"{place}/Cargo.toml") for place in places[:MOST_MEMBERS])
    return crates_of_manifests([root, *(each for each in members if each is not None)])


def _python(reader: _Reader) -> Iterator[str]:
    yield from packages_of_project(reader.toml("pyproject.toml") or {})
    yield from packages_of_uv_lock(reader.toml("uv.lock") or {})
    for name in reader.names("*requirements*.txt"):
        yield from packages_of_requirements(reader.text(name) or "")


def _npm(reader: _Reader) -> Iterator[str]:
    root = reader.json("package.json") or {}
    yield from packages_of_manifest(root)
    places = [place for pattern in workspaces_of(root) for place in reader.matching(pattern)]
    for place in places[:MOST_MEMBERS]:
        yield from packages_of_manifest(reader.json(f"{place}/package.json") or {})


_FINDERS: Final[Mapping[Ecosystem, Callable[[_Reader], Iterable[str]]]] = {
    "crate": _crates,
    "python": _python,
    "npm": _npm,
}


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False

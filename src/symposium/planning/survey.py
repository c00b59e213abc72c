"""Collect facts about a workspace from its manifests and lock files.

Cargo is not called, because it runs programs that a workspace configures.
"""

import fnmatch
import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeAlias

from localio.files import regular_content
from localio.toml import parse_toml
from peerwire.jsonrpc.values import as_list, as_object
from symposium.planning.recommendations import (
    Ecosystem,
    FileExists,
    Leaf,
    PredicateUses,
    WorkspaceFacts,
    canonical,
    text_of,
)

TRANSPARENT: Final = "-battery-pack"
"""Suffix of crates whose own dependencies count as direct ones (acp-host §4.11)."""

_CARGO_SECTIONS: Final = ("dependencies", "dev-dependencies", "build-dependencies")


def crates_of_lock(lock: Mapping[str, Any]) -> frozenset[str]:
    """Return the direct dependencies in a `Cargo.lock`; members are packages without a source."""
    needs: dict[str, set[str]] = defaultdict(set)
    members: set[str] = set()
    for package in map(as_object, as_list(lock.get("package"))):
        name = text_of(package.get("name"))
        # An entry is `name`, `name version` or `name version (source)`.
        listed = [text_of(each).partition(" ")[0] for each in as_list(package.get("dependencies"))]
        needs[name].update(filter(None, listed))
        if "source" not in package:
            members.add(name)
    direct = {name for member in members for name in needs[member]}
    return frozenset(_through_battery_packs(direct, needs))


def crates_of_manifests(manifests: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the dependencies in `Cargo.toml` files, for a workspace without a lock file."""
    return frozenset(name for each in manifests for name in _of_manifest(each) if name)


def _of_manifest(manifest: Mapping[str, Any]) -> Iterator[str]:
    targets = map(as_object, as_object(manifest.get("target")).values())
    for table in (manifest, as_object(manifest.get("workspace")), *targets):
        for section in _CARGO_SECTIONS:
            for name, detail in as_object(table.get(section)).items():
                yield text_of(as_object(detail).get("package")) or name


def _through_battery_packs(direct: set[str], needs: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    todo = list(direct)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += needs.get(name, ()) if name.endswith(TRANSPARENT) else ()
    return found


_NPM_SECTIONS: Final = (
    "dependencies",
    "devDependencies",
    "peerDependencies",
    "optionalDependencies",
)


def packages_of_manifest(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield the dependencies in a `package.json`."""
    for section in _NPM_SECTIONS:
        yield from as_object(manifest.get(section))


def workspaces_of(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield the patterns for the directories of its members."""
    listed: Any = manifest.get("workspaces")
    patterns = as_object(listed).get("packages", listed)
    yield from filter(None, map(text_of, as_list(patterns)))


_NAME: Final = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)")
_LOCAL: Final = frozenset({"editable", "virtual", "directory"})
"""Kinds of source of the workspace's own packages in `uv.lock`."""


def packages_of_project(project: Mapping[str, Any]) -> Iterator[str]:
    """Yield the dependencies in a `pyproject.toml`, also in tables of uv and Poetry."""
    own = as_object(project.get("project"))
    yield from _named(own.get("dependencies"))
    for extra in as_object(own.get("optional-dependencies")).values():
        yield from _named(extra)
    for group in as_object(project.get("dependency-groups")).values():
        yield from _named(group)
    tools = as_object(project.get("tool"))
    yield from _named(as_object(tools.get("uv")).get("dev-dependencies"))
    poetry = as_object(tools.get("poetry"))
    groups = map(as_object, as_object(poetry.get("group")).values())
    for table in (poetry, *groups):
        for section in ("dependencies", "dev-dependencies"):
            yield from (name for name in as_object(table.get(section)) if name != "python")


def packages_of_requirements(text: str) -> Iterator[str]:
    """Yield the packages in a `requirements.txt`, without options and plain URLs."""
    for line in text.splitlines():
        found = _NAME.match(line)
        rest = "" if found is None else line[found.end() :].lstrip()
        if found is not None and not rest.startswith(("/", ":", "\\")):
            yield found[1]


def packages_of_uv_lock(lock: Mapping[str, Any]) -> Iterator[str]:
    """Yield the direct dependencies of the members in a `uv.lock`."""
    for package in map(as_object, as_list(lock.get("package"))):
        if not _LOCAL & as_object(package.get("source")).keys():
            continue
        extras = as_object(package.get("optional-dependencies")).values()
        groups = as_object(package.get("dev-dependencies")).values()
        for listed in (package.get("dependencies"), *extras, *groups):
            for each in map(as_object, as_list(listed)):
                yield text_of(each.get("name"))


def _named(requirements: Any) -> Iterator[str]:
    for each in as_list(requirements):
        found = _NAME.match(text_of(each))
        if found is not None:
            yield found[1]


MAX_BYTES: Final = 8 * 1024 * 1024
"""Maximum bytes of one file; a lock file with several thousand packages has 1 MiB."""

MAX_MEMBERS: Final = 500
"""Maximum number of member directories whose manifests are read."""

_Parse: TypeAlias = Callable[[str], Any]


def survey(workspace: Path, leaves: Iterable[Leaf]) -> WorkspaceFacts:
    """Collect the facts that these conditions need; reads no other files."""
    asked = list(leaves)
    files = {leaf.path for leaf in asked if isinstance(leaf, FileExists)}
    wanted: set[Ecosystem] = {leaf.ecosystem for leaf in asked if isinstance(leaf, PredicateUses)}
    reader = _Reader(workspace)
    packages: dict[Ecosystem, frozenset[str]] = {}
    for ecosystem in wanted:
        names = _FINDERS[ecosystem](reader)
        packages[ecosystem] = frozenset(canonical(ecosystem, name) for name in names if name)
    there = frozenset(path for path in files if _is_there(workspace / path))
    return WorkspaceFacts(there, packages, tuple(reader.problems))


class _Reader:
    """Read files of one workspace; an unreadable file is reported and counts as missing."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self.problems: list[str] = []

    def toml(self, name: str) -> Mapping[str, Any] | None:
        """Return the content of a TOML file; None if it is missing or unreadable."""
        return self._table(name, parse_toml)

    def json(self, name: str) -> Mapping[str, Any] | None:
        """Return the content of a JSON file; None if it is missing or unreadable."""
        return self._table(name, json.loads)

    def text(self, name: str) -> str | None:
        """Return the content of a text file; None if it is missing or unreadable."""
        try:
            return regular_content(self._workspace / name, MAX_BYTES).decode()
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            self.problems.append(f"{name}: {error}")
            return None

    def matching(self, pattern: str) -> Iterator[str]:
        """Yield the paths that match a pattern such as `crates/*`.

        A pattern that is absolute or contains `**` or `..` matches none.
        """
        parts = PurePosixPath(pattern).parts
        if PurePosixPath(pattern).is_absolute() or {"..", "**"} & set(parts):
            return
        found = [""]
        for part in parts:
            found = [name for base in found for name in self._below(base, part)][:MAX_MEMBERS]
        yield from found

    def names(self, pattern: str) -> list[str]:
        """Return the names in the workspace's root directory that match a pattern."""
        return list(self._below("", pattern))

    def _below(self, base: str, part: str) -> Iterator[str]:
        if not any(each in part for each in "*?["):
            yield str(PurePosixPath(base, part))
            return
        try:
            names = sorted(os.listdir(self._workspace / base))  # noqa: PTH208 - names, no paths
        except OSError:
            return
        for name in fnmatch.filter(names, part)[:MAX_MEMBERS]:
            yield str(PurePosixPath(base, name))

    def _table(self, name: str, parse: _Parse) -> Mapping[str, Any] | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            return as_object(parse(text))
        except (ValueError, RecursionError) as error:
            self.problems.append(f"{name}: {error}")
            return None


def _crates(reader: _Reader) -> Iterable[str]:
    lock = reader.toml("Cargo.lock")
    if lock is not None:
        return crates_of_lock(lock)
    root = reader.toml("Cargo.toml") or {}
    patterns = map(text_of, as_list(as_object(root.get("workspace")).get("members")))
    places = [place for pattern in patterns for place in reader.matching(pattern)]
    members = (reader.toml(f"{place}/Cargo.toml") for place in places[:MAX_MEMBERS])
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
    for place in places[:MAX_MEMBERS]:
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

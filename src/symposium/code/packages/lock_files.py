"""Lock files, and settings of package indexes.

A malformed file, or one of an unknown format, is skipped; the next one counts.

Cargo: `$CARGO_HOME/config.toml` (`source.crates-io.replace-with`), `CARGO_NET_OFFLINE`. Python:
`UV_DEFAULT_INDEX`, `UV_INDEX_URL`, `PIP_INDEX_URL`, `PIP_EXTRA_INDEX_URL`, the user's `uv.toml` and
`pip.conf`, `UV_OFFLINE`, `PIP_NO_INDEX`. npm: `npm_config_registry`, the user's `.npmrc`,
`npm_config_offline`.
"""

import configparser
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from symposium.code.packages.model import Pinned
from symposium.code.packages.project_files import (
    elements,
    json_of,
    members,
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
    """Version in Cargo.lock."""
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
            source = members(row.get("source"))
            # Poetry has the kind in `type`, uv in the name of the member.
            kinds = [source["type"]] if "type" in source else source
            kind = next((each for each in _UNPUBLISHED if each in kinds), None)
            yield version, f"{kind} {source.get('url', source.get(kind))}" if kind else ""

    return read


def _rows(file: Path, key: str, same: Same) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for row in map(members, elements(toml_of(file).get(key))):
        name, version = row.get("name"), row.get("version")
        if isinstance(name, str) and same(name) and isinstance(version, str):
            yield version, row


def _pipfile(file: Path, same: Same) -> Iterator[tuple[str, str]]:
    lock = json_of(file)
    groups = (members(lock.get(each)) for each in ("default", "develop"))
    rows = (members(row) for group in groups for name, row in group.items() if same(name))
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
    table = members(project.get("project"))
    lists = [table.get("dependencies")]
    lists += members(table.get("optional-dependencies")).values()
    lists += members(project.get("dependency-groups")).values()
    for listed in lists:
        for each in elements(listed):
            if isinstance(each, str):
                yield "pyproject.toml", each


def _package_lock(file: Path, same: Same) -> Iterator[tuple[str, str]]:
    lock = json_of(file)
    direct: list[str] = []
    nested: list[str] = []
    for path, row in members(lock.get("packages")).items():
        above, _, name = path.rpartition("node_modules/")
        version = members(row).get("version")
        if path and same(name) and isinstance(version, str):
            (nested if above else direct).append(version)
    # Format of npm up to version 6.
    row = next((row for name, row in members(lock.get("dependencies")).items() if same(name)), None)
    if isinstance(version := members(row).get("version"), str):
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
            for name, wanted in members(manifest.get(key)).items():
                if same(name) and isinstance(wanted, str) and wanted[:1] in "^~<>=*0123456789x":
                    return Pinned("package.json", wanted=wanted)
    return None


CRATES: Final = "https://index.crates.io/"
PYPI: Final = "https://pypi.org/simple"
NPM: Final = "https://registry.npmjs.org/"
"""The indexes that cargo, pip, and npm use when no setting names another one."""

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class CargoSettings:
    """Cargo's directory, and the sparse index that replaces crates.io.

    Attributes:
        problem: why the index cannot be used; empty if it can.
    """

    home: Path
    index: str = CRATES
    problem: str = ""


@dataclass(frozen=True, slots=True)
class PythonSettings:
    """Simple indexes in order of preference."""

    indexes: tuple[str, ...] = (PYPI,)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class NpmSettings:
    """The default registry, registries of scopes, and their credentials."""

    registry: str = NPM
    scopes: Mapping[str, str] | None = None
    tokens: Mapping[str, str] | None = None
    problem: str = ""

    def registry_of(self, name: str) -> str:
        """Registry of a package."""
        scope = name.partition("/")[0] if name.startswith("@") else ""
        found = (self.scopes or {}).get(scope, self.registry)
        return found if found.endswith("/") else f"{found}/"

    def authorization(self, url: str) -> str:
        """Authorization header for a URL; usually empty."""
        parts = urlsplit(url)
        place = f"//{parts.netloc}{parts.path}"
        for prefix, token in (self.tokens or {}).items():
            if place.startswith(prefix if prefix.endswith("/") else f"{prefix}/"):
                return token
        return ""


def cargo_settings(env: Mapping[str, str]) -> CargoSettings:
    """Read the user's Cargo settings."""
    home = Path(env.get("CARGO_HOME") or _home(env) / ".cargo")
    config = toml_of(home / "config.toml") or toml_of(home / "config")
    is_off = members(config.get("net")).get("offline") is True or _is_on(env, "CARGO_NET_OFFLINE")
    problem = "Cargo is set to stay offline" if is_off else ""
    sources = members(config.get("source"))
    source = members(sources.get("crates-io"))
    for _ in sources:
        source_name = source.get("replace-with")
        if not isinstance(source_name, str):
            break
        source = members(sources.get(source_name))
    registry = source.get("registry")
    if not source:
        return CargoSettings(home, CRATES, problem)
    if isinstance(registry, str) and registry.startswith("sparse+"):
        return CargoSettings(home, registry.removeprefix("sparse+"), problem)
    other = "Cargo's settings replace crates.io with a source that is not a sparse index"
    return CargoSettings(home, CRATES, problem or other)


def python_settings(env: Mapping[str, str]) -> PythonSettings:
    """Read the user's pip and uv settings."""
    config = Path(env.get("XDG_CONFIG_HOME") or _home(env) / ".config")
    pip = dict(_pip_settings(env, config))
    uv = toml_of(config / "uv" / "uv.toml")
    listed = [members(each) for each in elements(uv.get("index"))]
    of_uv = [str(each.get("url", "")) for each in listed if each.get("default") is True]
    named = [
        *(env.get(each, "") for each in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")),
        *of_uv,
        str(uv.get("index-url") or ""),
        pip.get("index-url", ""),
    ]
    first = next((each for each in named if each), PYPI)
    others = env.get("PIP_EXTRA_INDEX_URL") or pip.get("extra-index-url", "")
    indexes = [first.rpartition("=")[2] if "=http" in first else first, *others.split()]
    is_off = (
        _is_on(env, "UV_OFFLINE") or _is_on(env, "PIP_NO_INDEX") or _is_yes(pip.get("no-index"))
    )
    # Indexes in local files are not supported.
    asked = tuple(dict.fromkeys(each for each in indexes if each.startswith("http")))
    return PythonSettings(asked, "pip or uv is set to stay offline" if is_off else "")


def npm_settings(env: Mapping[str, str]) -> NpmSettings:
    """Read the user's npm settings."""
    lower = {name.lower(): value for name, value in env.items()}
    file = Path(lower.get("npm_config_userconfig") or _home(env) / ".npmrc")
    written = dict(_npmrc(text_of(file) or "", env))
    registry = lower.get("npm_config_registry") or written.get("registry") or NPM
    scopes = {
        name.removesuffix(":registry"): value
        for name, value in written.items()
        if name.startswith("@") and name.endswith(":registry")
    }
    tokens: dict[str, str] = {}
    for name, value in written.items():
        if name.startswith("//") and name.endswith(":_authToken"):
            tokens[name.removesuffix(":_authToken")] = f"Bearer {value}"
        elif name.startswith("//") and name.endswith(":_auth"):
            tokens[name.removesuffix(":_auth")] = f"Basic {value}"
    is_off = _is_yes(lower.get("npm_config_offline")) or _is_yes(written.get("offline"))
    return NpmSettings(registry, scopes, tokens, "npm is set to stay offline" if is_off else "")


def _pip_settings(env: Mapping[str, str], config: Path) -> Iterator[tuple[str, str]]:
    named = env.get("PIP_CONFIG_FILE")
    files = [Path("/etc/pip.conf"), _home(env) / ".pip" / "pip.conf", config / "pip" / "pip.conf"]
    for file in [*files, *([Path(named)] if named else [])]:
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        try:
            parser.read_string(text_of(file) or "")
        except configparser.Error:
            continue
        for section in ("global", "install", "download"):
            if parser.has_section(section):
                yield from parser.items(section)


def _npmrc(text: str, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, sign, value = line.partition("=")
        if sign and not name.lstrip().startswith((";", "#")):
            said = _VARIABLE.sub(lambda found: env.get(found[1], found[0]), value.strip())
            yield name.strip(), said.strip("\"'")


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or Path.home())


def _is_on(env: Mapping[str, str], name: str) -> bool:
    return _is_yes(env.get(name))


def _is_yes(value: str | None) -> bool:
    return (value or "").strip().lower() in {"1", "true", "yes", "on"}

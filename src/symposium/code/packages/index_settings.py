"""Settings of package indexes: those of the environment, and of the user's own files.

A malformed file is skipped; the next one counts.

Cargo: `$CARGO_HOME/config.toml` (`source.crates-io.replace-with`), `CARGO_NET_OFFLINE`. Python:
`UV_DEFAULT_INDEX`, `UV_INDEX_URL`, `PIP_INDEX_URL`, `PIP_EXTRA_INDEX_URL`, the user's `uv.toml` and
`pip.conf`, `UV_OFFLINE`, `PIP_NO_INDEX`. npm: `npm_config_registry`, the user's `.npmrc`,
`npm_config_offline`.
"""

import configparser
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from peerwire.jsonrpc.values import as_list, as_object
from symposium.code.packages.project_files import (
    text_of,
    toml_of,
)

CRATES: Final = "https://index.crates.io/"
PYPI: Final = "https://pypi.org/simple"
NPM: Final = "https://registry.npmjs.org/"
"""The indexes that cargo, pip, and npm use when no setting names another one.

They are the documented defaults of these programs: without them, the sources of a package are found
only for users who name an index. Nothing of this project is installed from here.
"""

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
    is_off = as_object(config.get("net")).get("offline") is True or _is_on(env, "CARGO_NET_OFFLINE")
    problem = "Cargo is set to stay offline" if is_off else ""
    sources = as_object(config.get("source"))
    source = as_object(sources.get("crates-io"))
    for _ in sources:
        source_name = source.get("replace-with")
        if not isinstance(source_name, str):
            break
        source = as_object(sources.get(source_name))
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
    listed = [as_object(each) for each in as_list(uv.get("index"))]
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

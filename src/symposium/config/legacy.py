"""Find settings of older layouts of the reference, to offer them for import (§4.2).

Only the initial setup imports them, if the user agrees. Unreadable files are ignored.
"""

import hashlib
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from localio.files import read_text
from localio.jsonc import JsoncError, parse
from symposium.config.component_source import ComponentSource, SourceError, read_source
from symposium.config.paths import Paths
from symposium.config.user_config import Config, ConfigError, ModEntry, read_config

_log = logging.getLogger(__name__)


def find_legacy(
    paths: Paths, workspace: Path, environment: Mapping[str, str] | None = None
) -> Config | None:
    """Find a workspace's config in older layouts, newest first; None if missing.

    Three are known: v3.0.0 (a directory of its own, `mods`), 45ce37f7 (`~/.symposium/config`,
    `extensions`), both with `agent.json` for all workspaces, and 9af65c7b, where each workspace's
    file names the agent too.

    Args:
        paths: the user's directories.
        workspace: the directory that the editor works in.
        environment: default: this process's.
    """
    env = os.environ if environment is None else environment
    for root in _roots(paths, env):
        chosen = _read(root / "config" / "agent.json")
        own = _read(root / "config" / encoded(workspace) / "config.json")
        agent = _agent(chosen) or _agent(own)
        if agent is not None:
            return Config(agent, _mods(own))
    return None


def encoded(workspace: Path) -> str:
    """The directory name of a workspace: its last part and 16 digits of its hash."""
    digest = hashlib.sha256(str(workspace).encode(errors="replace")).hexdigest()
    return f"{workspace.name or 'root'}-{digest[:16]}"


def _roots(paths: Paths, env: Mapping[str, str]) -> Iterator[Path]:
    override = env.get("SYMPOSIUM_CONFIG_DIR")
    if override:
        yield Path(override)
    elif not env.get("SYMPOSIUM_HOME"):
        # A custom home is meant to be self-contained.
        yield _platform_directory(env, sys.platform)
    yield paths.home


def _platform_directory(env: Mapping[str, str], platform: str) -> Path:
    user = Path(env.get("HOME") or Path.home())
    if platform == "darwin":
        return user / "Library" / "Application Support" / "symposium"
    if platform == "win32":
        return Path(env.get("APPDATA") or user / "AppData" / "Roaming") / "symposium"
    return Path(env.get("XDG_CONFIG_HOME") or user / ".config") / "symposium"


def _read(path: Path) -> Mapping[str, Any]:
    try:
        text = read_text(path)
        value = None if text is None else parse(text).value
    except (OSError, UnicodeDecodeError, JsoncError) as error:
        _log.info("ignoring %s: %s", path, error)
        return {}
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _agent(file: Mapping[str, Any]) -> ComponentSource | None:
    try:
        return read_source(file["agent"], "agent") if "agent" in file else None
    except SourceError as error:
        _log.info("ignoring an agent of an older layout: %s", error)
        return None


def _mods(file: Mapping[str, Any]) -> tuple[ModEntry, ...]:
    listed = file.get("mods", file.get("extensions", []))
    entries = cast("list[Any]", listed) if isinstance(listed, list) else []
    found = (_mod(entry) for entry in entries)
    return tuple(mod for mod in found if mod is not None)


def _mod(value: Any) -> ModEntry | None:
    entry = dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else {}
    kind = entry.get("kind")
    if isinstance(kind, str):
        entry["kind"] = kind.lower()
    if not entry.get("when"):
        entry.pop("when", None)
    source = entry.get("source")
    if isinstance(source, Mapping) and "builtin" in source:
        # Built-in mods are identified by name only.
        entry["name"] = cast("Mapping[str, Any]", source)["builtin"]
        del entry["source"]
    try:
        (mod,) = read_config({"agent": "", "mods": [entry]}).mods
    except (ConfigError, SourceError) as error:
        _log.info("ignoring a mod of an older layout: %s", error)
        return None
    return mod

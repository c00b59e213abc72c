"""The mods that a user has beyond ours and the registry's: of the config, and recommended ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from symposium.config.paths import Paths
from symposium.config.user_config import ConfigError, ModEntry, load
from symposium.run_mode.advice import adviser_for


@dataclass(frozen=True, slots=True)
class CustomMods:
    """Found mods, by name; a name of the config hides the same name elsewhere.

    Attributes:
        mods: each with a source of its own.
        whose: who has named it, in words.
        trouble: why the config's are missing; empty if nothing is wrong.
    """

    mods: Mapping[str, ModEntry]
    whose: Mapping[str, str]
    trouble: str = ""


def custom_mods(config: Path, paths: Paths, env: Mapping[str, str], workspace: Path) -> CustomMods:
    """Find all mods; those that a workspace recommends only if it is trusted."""
    trouble = ""
    try:
        loaded = load(config)
    except ConfigError as error:
        loaded, trouble = None, error.message
    mods: dict[str, ModEntry] = {}
    whose: dict[str, str] = {}
    for mod in () if loaded is None else loaded.config.mods:
        if mod.source is not None and mods.setdefault(mod.name, mod) is mod:
            whose[mod.name] = "of the config"
    for each in adviser_for(paths, env).advise(workspace).recommendations:
        mod = each.mod
        if mod.source is not None and mods.setdefault(mod.name, mod) is mod:
            whose[mod.name] = f"recommended ({each.layer})"
    return CustomMods(mods, whose, trouble)

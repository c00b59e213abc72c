"""Locations of the user's files: `$SYMPOSIUM_HOME`, else the usual directories."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

_RUNTIME_LINK: Final = "runtime"

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class Paths(Struct, frozen=True):
    """The directories of one user.

    Attributes:
        home: settings, agents, and state: `$SYMPOSIUM_HOME`, else `~/.symposium`.
        cache: downloaded files: `home/cache` if `$SYMPOSIUM_HOME` is set, else
            `$XDG_CACHE_HOME/symposium`.
        runtime: sockets: the target of the link `home/runtime` (`keep_runtime`), else `home/run`
            if `$SYMPOSIUM_HOME` is set, else `$XDG_RUNTIME_DIR/symposium` or `home/run`.
    """

    home: Path
    cache: Path
    runtime: Path

    @property
    def audit(self) -> Path:
        """Directory of the audit log."""
        return self.home / "audit"

    @property
    def config(self) -> Path:
        """Path of `config.jsonc`, which may not exist."""
        return self.home / "config.jsonc"


def paths(environment: Mapping[str, str] | None = None) -> Paths:
    """Return the directories for this environment without creating them (architecture D9, D22)."""
    env = os.environ if environment is None else environment
    user = Path(env.get("HOME") or Path.home())
    override = env.get("SYMPOSIUM_HOME")
    if override:
        home = _absolute(override, user)
        return Paths(home, home / "cache", _kept_runtime(home) or home / "run")
    home = user / ".symposium"
    cache = Path(env.get("XDG_CACHE_HOME") or user / ".cache") / "symposium"
    runtime = env.get("XDG_RUNTIME_DIR")
    usual = Path(runtime) / "symposium" if runtime else home / "run"
    return Paths(home, cache, _kept_runtime(home) or usual)


def keep_runtime(environment: Mapping[str, str] | None = None) -> None:
    """Link the directory of the sockets from the home, for programs without `$XDG_RUNTIME_DIR`.

    Such programs are started by cron, for example. Does nothing if `$SYMPOSIUM_HOME` is set.

    Raises:
        OSError: the link cannot be written.
    """
    env = os.environ if environment is None else environment
    found = paths(env)
    if env.get("SYMPOSIUM_HOME") or _kept_runtime(found.home) is not None:
        return
    found.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = found.home / f".{_RUNTIME_LINK}.{os.getpid()}"
    temporary.symlink_to(found.runtime)
    temporary.replace(found.home / _RUNTIME_LINK)


def config_file(named: Path | None, environment: Mapping[str, str] | None = None) -> Path:
    """Return the config file: the named one, else `$SYMPOSIUM_CONFIG`, else the default (§4.2).

    Args:
        named: value of `--config`.
        environment: Default: the environment of this process.
    """
    env = os.environ if environment is None else environment
    user = Path(env.get("HOME") or Path.home())
    if named is not None:
        return _absolute(str(named), user)
    override = env.get("SYMPOSIUM_CONFIG")
    return _absolute(override, user) if override else paths(env).config


def policy_file(environment: Mapping[str, str] | None = None) -> Path:
    """Return the path of the user's policy file, which may be missing."""
    return paths(environment).home / "policy.toml"


def leave_relative_places() -> None:
    """Remove relative directories from PATH, for this process and its children."""
    if (search_path := os.environ.get("PATH")) is not None:
        places = search_path.split(os.pathsep)
        os.environ["PATH"] = os.pathsep.join(filter(os.path.isabs, places))


def _kept_runtime(home: Path) -> Path | None:
    try:
        kept = (home / _RUNTIME_LINK).readlink()
        found = kept.lstat()
    except OSError:
        return None
    # In a link, or a directory that other users can change, another program could listen.
    is_private = stat.S_ISDIR(found.st_mode) and not found.st_mode & _OTHERS
    is_safe = is_private and found.st_uid == os.getuid()
    return kept if is_safe and kept.is_absolute() else None


def _absolute(text: str, user: Path) -> Path:
    if text == "~" or text.startswith("~/"):
        return user / text[2:]
    return Path(text).absolute()

"""Locations of the files of the user: one override, else the usual directories."""

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
        home: settings, agents and state: `$SYMPOSIUM_HOME`, else `~/.symposium`.
        cache: what can be fetched again: in `home` if overridden, else `$XDG_CACHE_HOME/symposium`.
        runtime: sockets: in `home` if overridden, else the directory that the home keeps
            (`keep_runtime`), `$XDG_RUNTIME_DIR/symposium` or `home/run`.
    """

    home: Path
    cache: Path
    runtime: Path

    @property
    def audit(self) -> Path:
        """The directory with the record of what agents were allowed."""
        return self.home / "audit"

    @property
    def config(self) -> Path:
        """The config file."""
        return self.home / "config.jsonc"


def paths(environment: Mapping[str, str] | None = None) -> Paths:
    """The directories that this environment asks for; none is made (architecture D9, D22)."""
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
    """Have the directory of the sockets found without the variables that name it, as from cron.

    A link in the home says which it is; a home that is named needs none.

    Raises:
        OSError: it cannot be written.
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
    """The config file to use: the one named, else `$SYMPOSIUM_CONFIG`, else the usual one (§4.2).

    Args:
        named: what stood after `--config`.
        environment: ours, by default.
    """
    env = os.environ if environment is None else environment
    user = Path(env.get("HOME") or Path.home())
    if named is not None:
        return _absolute(str(named), user)
    override = env.get("SYMPOSIUM_CONFIG")
    return _absolute(override, user) if override else paths(env).config


def policy_file(environment: Mapping[str, str] | None = None) -> Path:
    """The file with the user's rules for agents; it need not be there."""
    return paths(environment).home / "policy.toml"


def leave_relative_places() -> None:
    """Take from our own PATH, and so from that of all we start, what depends on where one is."""
    if (search_path := os.environ.get("PATH")) is not None:
        places = search_path.split(os.pathsep)
        os.environ["PATH"] = os.pathsep.join(filter(os.path.isabs, places))


def _kept_runtime(home: Path) -> Path | None:
    try:
        kept = (home / _RUNTIME_LINK).readlink()
        found = kept.lstat()
    except OSError:
        return None
    # Not one that is a link, another user's, or open to others: who could listen there?
    is_private = stat.S_ISDIR(found.st_mode) and not found.st_mode & _OTHERS
    is_safe = is_private and found.st_uid == os.getuid()
    return kept if is_safe and kept.is_absolute() else None


def _absolute(text: str, user: Path) -> Path:
    if text == "~" or text.startswith("~/"):
        return user / text[2:]
    return Path(text).absolute()

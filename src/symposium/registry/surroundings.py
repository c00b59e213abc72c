"""What the registry needs to know of a user and a machine, gathered in one value."""

import logging
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from localio.processes import look_up, usual_path
from symposium.config.paths import paths
from symposium.registry.added import AddedAgents
from symposium.registry.index import RegistryIndex, registry_address
from symposium.registry.platforms import platform_key
from symposium.registry.receipts import installed_versions

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A user's directories, and the machine under them.

    Attributes:
        env: the environment that programs are looked for in.
        home: where agents are installed and noted.
        cache: where the copy of the index is.
        platform: the machine, as the registry names it.
        address: of the index: a URL or a file.
        notify: is given a line before anything that takes time.
    """

    env: Mapping[str, str]
    home: Path
    cache: Path
    platform: str
    address: str
    notify: Callable[[str], None] = _log.info

    @property
    def bin_directory(self) -> Path:
        """Where agents are installed, a directory each."""
        return self.home / "bin"

    @property
    def index(self) -> RegistryIndex:
        """The registry."""
        return RegistryIndex(self.address, self.cache)

    @property
    def added(self) -> AddedAgents:
        """The commands that were added by hand."""
        return AddedAgents(self.home)

    def has_agent(self, agent_id: str) -> bool:
        """Whether an agent of that id was installed or added, so that no registry is needed."""
        directory = self.bin_directory / agent_id
        return self.added.find(agent_id) is not None or bool(installed_versions(directory))

    def has_tool(self, name: str) -> bool:
        """Whether a program is on PATH or in a usual place."""
        return look_up(name, usual_path(self.env).split(os.pathsep)) is not None


def surroundings(
    env: Mapping[str, str],
    address: str | None = None,
    notify: Callable[[str], None] = _log.info,
) -> Surroundings:
    """Those of this process; `address` is what a person asked for, if anything."""
    found = paths(env)
    platform = platform_key(sys.platform, os.uname().machine)
    index = registry_address(env, address)
    return Surroundings(env, found.home, found.cache, platform, index, notify)

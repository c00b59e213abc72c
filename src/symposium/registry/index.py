"""The registry's index and its cache, installed agents, and agents that the user added.

Local data is returned at once, with its age; the network is used at most once a day.

A directory without a receipt is an incomplete installation: the receipt is written last.
"""

import logging
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from localio.files import expand_home, write_whole
from localio.http import INDEX_TIME, FetchError
from localio.http_cache import CachedCopy, HttpCache
from localio.processes import look_up, usual_path
from localio.text import plain_text
from peerwire.transports.command import Command
from symposium.config.paths import paths
from symposium.errors import SpecError, SymposiumError
from symposium.registry.entries import (
    MAX_INDEX,
    Index,
    RegistryFormatError,
    parse_index,
    platform_key,
)

OFFICIAL: Final = "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json"
VARIABLE: Final = "SYMPOSIUM_REGISTRY"
"""Environment variable with the address of the index: a URL or a file."""

SNAPSHOT: Final = Path(__file__).with_name("snapshot.json")

_CACHE_NAME: Final = "registry.json"


@dataclass(frozen=True, slots=True)
class LoadedIndex:
    """An index, its source, and its age.

    Attributes:
        origin: source of the index.
        as_of: when it was up to date, in seconds since 1970.
        is_fresh: whether it is new enough to skip the network.
        problem: why it is not newer; empty if nothing is wrong.
    """

    index: Index
    origin: Literal["network", "cache", "snapshot", "file"]
    as_of: float
    is_fresh: bool
    problem: str = ""

    def describe(self) -> str:
        """One line for the user: which copy, how old, and why not a newer one."""
        return self._which() + (f"; {plain_text(self.problem)}" if self.problem else "")

    def in_short(self) -> str:
        """Same as `describe`, without the reason; empty if the index is up to date."""
        if self.problem:
            return f"{self._which()}; not updated: run `symposium agents update` to see why"
        is_new = self.origin == "network" or (self.origin == "cache" and self.is_fresh)
        return "" if is_new else self._which()

    def _which(self) -> str:
        now = time.time()
        day = datetime.fromtimestamp(self.as_of, UTC).date().isoformat()
        age = max(0, int((now - self.as_of) // 86400))
        old = "today" if age == 0 else "1 day old" if age == 1 else f"{age} days old"
        names = {"network": "downloaded now", "cache": "copy", "file": "file"}
        what = names.get(self.origin, "bundled snapshot")
        return f"registry: {what} of {day} ({old})"


def registry_address(env: Mapping[str, str], option: str | None = None) -> str:
    """Address of the index: the option, else the environment, else the official one."""
    return option or env.get(VARIABLE) or OFFICIAL


class RegistryIndex:
    """The index at one address, with its copy in one directory."""

    def __init__(
        self, address: str, cache: Path, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._address = address.removeprefix("file://")
        self._cache = HttpCache(
            self._address, cache / _CACHE_NAME, INDEX_TIME, MAX_INDEX, parse_index, clock
        )

    def here(self) -> LoadedIndex:
        """Return the local index: a file, the copy, or the bundled snapshot.

        Raises:
            RegistryFormatError: the address is a file, and not an index.
            OSError: the address is a file that cannot be read.
        """
        if not _is_url(self._address):
            path = expand_home(self._address)
            index = parse_index(path.read_bytes()[: MAX_INDEX + 1])
            return LoadedIndex(index, "file", path.stat().st_mtime, is_fresh=True)
        if (copy := self._cache.copy()) is not None:
            is_fresh = self._cache.is_fresh(copy)
            return LoadedIndex(_index_in(copy), "cache", copy.fetched, is_fresh=is_fresh)
        return snapshot()

    async def current(self) -> LoadedIndex:
        """Return a fresh index if possible, else the newest local one, with the reason.

        Raises:
            RegistryFormatError: the address is a file, and not an index.
            OSError: the address is a file that cannot be read.
        """
        found = self.here()
        return found if found.is_fresh else await self.refresh()

    async def refresh(self) -> LoadedIndex:
        """Download the index; return the local one if that fails."""
        if not _is_url(self._address):
            return self.here()
        try:
            copy = await self._cache.download()
        except (FetchError, RegistryFormatError, OSError) as error:
            reason = error.message if isinstance(error, FetchError | RegistryFormatError) else error
            return replace(self.here(), problem=f"update failed: {reason}")
        return LoadedIndex(_index_in(copy), "network", copy.fetched, is_fresh=True)


def snapshot() -> LoadedIndex:
    """Return the bundled index, with its date."""
    index = parse_index(SNAPSHOT.read_bytes())
    as_of = datetime.fromisoformat(index.stamp).replace(tzinfo=UTC).timestamp()
    return LoadedIndex(index, "snapshot", as_of, is_fresh=False)


def _index_in(copy: CachedCopy) -> Index:
    return parse_index(copy.body.encode())


def _is_url(address: str) -> bool:
    return "://" in address


FILE: Final = "agents.json"

_UNFIT: Final = re.compile(r"[^a-z0-9]+", re.ASCII)


class AddedAgent(Struct, frozen=True):
    """A command with an id, added by the user."""

    id: str
    argv: tuple[str, ...]
    env: dict[str, str] = {}

    @property
    def command(self) -> Command:
        """Command that starts the agent."""
        return Command(self.argv, dict(self.env), self.id)


class AddedAgents:
    """The added agents of one home; the file is read each time and replaced atomically."""

    def __init__(self, home: Path) -> None:
        self._file = home / FILE

    def all(self) -> list[AddedAgent]:
        """Return all added agents, sorted by id.

        Raises:
            ExplainedError: the file exists but cannot be read.
        """
        try:
            found = msgspec.json.decode(self._file.read_bytes(), type=list[AddedAgent])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError, UnicodeError) as error:
            raise SymposiumError(
                f"{self._file} cannot be read: {error}",
                "fix it, or move it and add the agents again",
            ) from error
        return sorted(found, key=lambda each: each.id)

    def find(self, agent_id: str) -> AddedAgent | None:
        return next((each for each in self.all() if each.id == agent_id), None)

    def add(self, agent: AddedAgent) -> None:
        """Add an agent, or replace the one with its id.

        Raises:
            ExplainedError: the file exists but cannot be read.
        """
        self._write([*(each for each in self.all() if each.id != agent.id), agent])

    def remove(self, agent_id: str) -> bool:
        """Remove an agent; False if it did not exist.

        Raises:
            ExplainedError: the file exists but cannot be read.
        """
        before = self.all()
        after = [each for each in before if each.id != agent_id]
        if len(after) == len(before):
            return False
        self._write(after)
        return True

    def _write(self, agents: list[AddedAgent]) -> None:
        # Readable by the user only: an environment may contain a key.
        write_whole(self._file, msgspec.json.format(msgspec.json.encode(agents)) + b"\n")


def id_of(command: Command) -> str:
    """Derive an id from the name of a command or program.

    Raises:
        SpecError: the name contains no letter.
    """
    name = command.name or command.argv[0].rpartition("/")[2]
    found = _UNFIT.sub("-", name.lower()).strip("-0123456789")
    if not found:
        raise SpecError(f"cannot derive an id from {name!r}", "specify one with --id")
    return found


RECEIPT: Final = ".symposium-receipt.json"


class InstallReceipt(Struct, frozen=True, kw_only=True):
    """Record of an installation.

    Attributes:
        source: the tool used: `binary`, `npx`, `uvx`, `pipx` or `cargo`.
        origin: the archive's URL, or the requested package.
        version: the registry's version.
        argv: start command; a word that begins with `./` is a path in its directory.
        sha256: of the archive, if there was one.
        is_verified: whether the registry published the same sum.
        integrity: the package's checksum, as its registry reports it.
        when: time of the installation, in seconds since 1970.
    """

    id: str
    name: str
    version: str
    source: str
    origin: str
    argv: tuple[str, ...]
    when: float
    env: dict[str, str] = {}
    sha256: str | None = None
    is_verified: bool = False
    integrity: str | None = None


def read_receipt(directory: Path) -> InstallReceipt | None:
    """Read the receipt in a version's directory; None if it is missing or invalid."""
    try:
        return msgspec.json.decode((directory / RECEIPT).read_bytes(), type=InstallReceipt)
    except (OSError, msgspec.DecodeError, UnicodeError):
        return None


def write_receipt(receipt: InstallReceipt, directory: Path) -> None:
    """Mark a directory as installed, durably."""
    write_whole(directory / RECEIPT, msgspec.json.format(msgspec.json.encode(receipt)))


def installed(bin_directory: Path) -> Mapping[str, InstallReceipt]:
    """Return the newest receipt of each installed agent, by id, sorted by id."""
    found: dict[str, InstallReceipt] = {}
    for directory in sorted(bin_directory.glob("[a-z]*")):
        if versions := installed_versions(directory):
            found[directory.name] = versions[-1]
    return found


def installed_versions(agent_directory: Path) -> list[InstallReceipt]:
    """Return the receipts of one agent, the newest installation last."""
    found = [read_receipt(each) for each in agent_directory.glob("[!.]*")]
    return sorted((each for each in found if each is not None), key=lambda each: each.when)


def installed_command(bin_directory: Path, receipt: InstallReceipt) -> Command:
    """Command of an installed program, without npx or another launcher."""
    directory = bin_directory / receipt.id / receipt.version
    argv = tuple(
        str(directory / word[2:]) if word.startswith("./") and at < _PATHS else word
        for at, word in enumerate(receipt.argv)
    )
    return Command(argv, dict(receipt.env), receipt.name)


_PATHS: Final = 2
"""Leading words that may be paths in the directory: an interpreter and its script."""


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RegistryContext:
    """Directories of the user, and the machine.

    Attributes:
        env: environment for looking up programs.
        home: directory for installed and added agents.
        cache: directory for the copy of the index.
        platform: the machine, as the registry names it.
        address: of the index: a URL or a file.
        notify: receives a line before a slow operation.
    """

    env: Mapping[str, str]
    home: Path
    cache: Path
    platform: str
    address: str
    notify: Callable[[str], None] = _log.info

    @property
    def bin_directory(self) -> Path:
        """Directory of installed agents, with one subdirectory each."""
        return self.home / "bin"

    @property
    def index(self) -> RegistryIndex:
        return RegistryIndex(self.address, self.cache)

    @property
    def added(self) -> AddedAgents:
        """The agents that the user added."""
        return AddedAgents(self.home)

    def has_agent(self, agent_id: str) -> bool:
        """Whether an agent with that id is installed or added, so that no registry is needed."""
        directory = self.bin_directory / agent_id
        return self.added.find(agent_id) is not None or bool(installed_versions(directory))

    def has_tool(self, name: str) -> bool:
        """Whether a program is on PATH or in a usual directory."""
        return look_up(name, usual_path(self.env).split(os.pathsep)) is not None


def registry_context(
    env: Mapping[str, str],
    address: str | None = None,
    notify: Callable[[str], None] = _log.info,
) -> RegistryContext:
    """Context of this process; `address` overrides the configured one."""
    found = paths(env)
    platform = platform_key(sys.platform, os.uname().machine)
    index = registry_address(env, address)
    return RegistryContext(env, found.home, found.cache, platform, index, notify)

"""Every agent that a user can choose, and which of them are on this machine."""

import asyncio
import logging
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from localio.errors import ExplainedError, ProgramNotFoundError
from localio.processes import NOWHERE, ProcessSpec, look_up, run_collecting, usual_path
from peerwire.transports.command import Command, without_values
from symposium.config.component_source import ComponentSource
from symposium.errors import NotFoundError
from symposium.registry.entries import (
    FromLocal,
    FromPackage,
    RegistryEntry,
    choose_way,
    passing_command,
)
from symposium.registry.index import (
    AddedAgent,
    InstallReceipt,
    LoadedIndex,
    RegistryContext,
    installed,
    snapshot,
)

VERSION_TIME: Final = 2.0
"""Seconds that a program has to say its version; all are asked at once."""

_PROGRAMS: Final = {
    "github-copilot": "copilot-language-server",
    "qoder": "qodercli",
    "qwen-code": "qwen",
}
"""Ids whose program has another name than the id, the package or the archive says."""

_VERSION: Final = re.compile(rb"(?<![\w.])v?(\d+(?:\.\d+)+[\w.+-]*)")
_MAX_FILE_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Detected:
    """An agent that is here without our doing; its version is empty if it does not say."""

    entry: RegistryEntry
    program: Path
    version: str


async def detect(entries: Sequence[RegistryEntry], env: Mapping[str, str]) -> list[Detected]:
    """Find installed agents by their programs, in order."""
    directories = usual_path(env).split(os.pathsep)
    here = [
        (entry, program)
        for entry in entries
        if (program := look_up(program_name(entry), directories)) is not None
    ]
    search_path = {**env, "PATH": os.pathsep.join(directories)}
    async with asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(_version(program, search_path)) for _, program in here]
    return [
        Detected(entry, program, version.result())
        for (entry, program), version in zip(here, asked, strict=True)
    ]


def program_name(entry: RegistryEntry) -> str:
    """Name of an agent's program when it was installed by hand."""
    if entry.id in _PROGRAMS:
        return _PROGRAMS[entry.id]
    for target in (entry.distribution.binary or {}).values():
        return PurePosixPath(target.cmd).stem
    return entry.id


def way_arguments(entry: RegistryEntry) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """The arguments and variables that make the program speak ACP, whichever way it came."""
    ways = entry.distribution
    for target in (ways.binary or {}).values():
        return target.args, target.env
    for way in (ways.local, ways.npx, ways.uvx, ways.pipx):
        if way is not None:
            return way.args, way.env
    return (ways.cargo.args if ways.cargo else ()), {}


async def _version(program: Path, env: Mapping[str, str]) -> str:
    talker = ProcessSpec((str(program), "--version"), env, NOWHERE)
    try:
        heard = await run_collecting(
            talker, seconds=VERSION_TIME, is_enough=lambda said: len(said) > _MAX_FILE_BYTES
        )
    except (OSError, TimeoutError):
        return ""
    found = _VERSION.search(heard.said)
    return found[1].decode() if found else ""


How = Literal["built in", "added", "installed", "on this machine", "registry", "unavailable"]

BUILT_IN: Final = {
    "eliza": "Answers without a model, the same every time; calls MCP tools when asked.",
    "testy": "Does what a prompt in JSON says, to try out clients and mods.",
}
"""Agents that come with us; what the registry calls the same is hidden by them."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """One agent on offer.

    Attributes:
        agent: what a config says to have it: words of a command, or a source.
        is_installed: whether it starts without anything being fetched.
        how: why it is on the list.
        version: the one here, else the registry's; empty if unknown.
        place: where it is on this machine; empty if it is not.
        labels: other writings of the same agent, as older configs have them.
    """

    id: str
    name: str
    description: str
    agent: str | ComponentSource
    is_installed: bool
    how: How
    version: str = ""
    place: str = ""
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentListing:
    """The agents on offer: those that are here first; `warning` says why some may be missing."""

    agents: tuple[KnownAgent, ...]
    warning: str | None = None


class RegistryDirectory:
    """The agents of one user on one machine."""

    def __init__(self, around: RegistryContext) -> None:
        self._around = around

    async def choices(self) -> AgentListing:
        """The list from local data; does not use the network and does not fail."""
        warnings: list[str] = []
        loaded = self._loaded(warnings)
        if loaded.trouble:
            warnings.append(loaded.trouble)
        agents = await self._all(loaded, warnings)
        return AgentListing(tuple(agents), "; ".join(warnings) or None)

    async def refresh(self) -> None:
        """Renew the copy of the registry if it is older than a day: for a task beside the work."""
        try:
            loaded = await self._around.index.current()
        except (ExplainedError, OSError) as error:
            _log.warning("the registry could not be read: %s", error)
        else:
            if loaded.trouble:
                _log.info("%s", loaded.trouble)

    def _loaded(self, warnings: list[str]) -> LoadedIndex:
        try:
            return self._around.index.here()
        except (ExplainedError, OSError) as error:
            reason = error.message if isinstance(error, ExplainedError) else str(error)
            warnings.append(f"the registry could not be read: {reason}")
            return snapshot()

    async def _all(self, loaded: LoadedIndex, warnings: list[str]) -> Iterable[KnownAgent]:
        around = self._around
        try:
            added: Sequence[AddedAgent] = around.added.all()
        except ExplainedError as error:
            warnings.append(error.message)
            added = ()
        receipts = installed(around.bin_directory)
        detected = await detect(loaded.index.agents, around.env)
        by_id: dict[str, KnownAgent] = {name: _built_in(name) for name in BUILT_IN}
        # What comes first hides what has its id and comes later.
        for known in (
            *map(_added, added),
            *(self._installed(receipt, loaded) for receipt in receipts.values()),
            *map(_detected, detected),
        ):
            by_id.setdefault(known.id, known)
        offered = [self._offered(entry) for entry in loaded.index.agents]
        for known in sorted(offered, key=lambda each: each.how == "unavailable"):
            by_id.setdefault(known.id, known)
        return by_id.values()

    def _installed(self, receipt: InstallReceipt, loaded: LoadedIndex) -> KnownAgent:
        said = {entry.id: entry.description for entry in loaded.index.agents}
        return KnownAgent(
            receipt.id,
            receipt.name,
            said.get(receipt.id) or f"installed from {receipt.origin}",
            ComponentSource("registry", receipt.id),
            is_installed=True,
            how="installed",
            version=receipt.version,
            place=str(self._around.bin_directory / receipt.id / receipt.version),
        )

    def _offered(self, entry: RegistryEntry) -> KnownAgent:
        around, labels, how, here = self._around, (), "registry", False
        why = ""
        try:
            way = choose_way(entry, around.platform, around.has_tool)
        except (NotFoundError, ProgramNotFoundError) as error:
            how, why = "unavailable", f" (unavailable here: {error.hint})"
        else:
            here = isinstance(way, FromLocal)
            if isinstance(way, FromLocal | FromPackage):
                labels = (shell_words(passing_command(way, entry.name)),)
        return KnownAgent(
            entry.id,
            entry.name,
            f"{entry.description}{why}",
            ComponentSource("registry", entry.id),
            is_installed=here,
            how=how,
            version=entry.version,
            labels=labels,
        )


def shell_words(command: Command) -> str:
    """The command as a person would write it, its variables first."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in command.env.items()]
    return " ".join([*variables, shlex.join(command.argv)])


def _built_in(name: str) -> KnownAgent:
    source = ComponentSource("builtin", name)
    description = BUILT_IN[name]
    return KnownAgent(
        name, name.capitalize(), description, source, is_installed=True, how="built in"
    )


def _added(agent: AddedAgent) -> KnownAgent:
    line = shell_words(agent.command)
    place = agent.argv[0]
    said = without_values(line)
    return KnownAgent(agent.id, agent.id, said, line, is_installed=True, how="added", place=place)


def _detected(found: Detected) -> KnownAgent:
    arguments, env = way_arguments(found.entry)
    command = Command((str(found.program), *arguments), dict(env))
    return KnownAgent(
        found.entry.id,
        found.entry.name,
        f"{found.version or 'version unknown'}, {found.program}",
        shell_words(command),
        is_installed=True,
        how="on this machine",
        version=found.version,
        place=str(found.program),
    )

"""List the agents that the user can choose, and which of them are on this machine."""

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
"""Timeout in seconds for `--version`; all programs are asked at the same time."""

_PROGRAMS: Final = {
    "github-copilot": "copilot-language-server",
    "qoder": "qodercli",
    "qwen-code": "qwen",
}
"""Programs whose name differs from the agent's id, package, and archive."""

_VERSION: Final = re.compile(rb"(?<![\w.])v?(\d+(?:\.\d+)+[\w.+-]*)")
_MAX_FILE_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Detected:
    """An agent that the user installed without Symposium; its version may be empty."""

    entry: RegistryEntry
    program: Path
    version: str


async def detect(entries: Sequence[RegistryEntry], env: Mapping[str, str]) -> list[Detected]:
    """Find installed agents by their programs, in the order of the entries."""
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
    """Name of an agent's program if the user installed it."""
    if entry.id in _PROGRAMS:
        return _PROGRAMS[entry.id]
    for target in (entry.distribution.binary or {}).values():
        return PurePosixPath(target.cmd).stem
    return entry.id


def way_arguments(entry: RegistryEntry) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Arguments and variables with which the program speaks ACP, for every distribution."""
    ways = entry.distribution
    for target in (ways.binary or {}).values():
        return target.args, target.env
    for way in (ways.local, ways.npx, ways.uvx, ways.pipx):
        if way is not None:
            return way.args, way.env
    return (ways.cargo.args if ways.cargo else ()), {}


async def _version(program: Path, env: Mapping[str, str]) -> str:
    spec = ProcessSpec((str(program), "--version"), env, NOWHERE)
    try:
        result = await run_collecting(
            spec, seconds=VERSION_TIME, is_enough=lambda said: len(said) > _MAX_FILE_BYTES
        )
    except (OSError, TimeoutError):
        return ""
    found = _VERSION.search(result.said)
    return found[1].decode() if found else ""


How = Literal["built in", "added", "installed", "on this machine", "registry", "unavailable"]

BUILT_IN: Final = {
    "eliza": "Answers without a model, always the same way. Calls MCP tools on request.",
    "testy": "Runs JSON commands from prompts, for testing clients and mods.",
}
"""Built-in agents; they hide agents of the registry with the same id."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """An agent that the user can choose.

    Attributes:
        agent: value for a config: words of a command, or a source.
        is_installed: whether it starts without a download.
        how: why it is on the list.
        version: the installed one, else the registry's; empty if unknown.
        place: its path on this machine, or empty.
        labels: other forms of the same agent, as older configs have them.
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
    """The agents to choose from, those on this machine first; `warning` names problems."""

    agents: tuple[KnownAgent, ...]
    warning: str | None = None


class RegistryDirectory:
    """The agents of one user on one machine."""

    def __init__(self, context: RegistryContext) -> None:
        self._context = context

    async def choices(self) -> AgentListing:
        """List agents from local data; does not use the network and does not fail."""
        warnings: list[str] = []
        loaded = self._loaded(warnings)
        agents = await self._all(loaded, warnings)
        return AgentListing(tuple(agents), "; ".join(warnings) or None)

    async def refresh(self) -> None:
        """Update the copy of the registry if it is older than a day. For a background task."""
        try:
            loaded = await self._context.index.current()
        except (ExplainedError, OSError) as error:
            _log.warning("cannot read the registry: %s", error)
        else:
            if loaded.problem:
                _log.info("%s", loaded.problem)

    def _loaded(self, warnings: list[str]) -> LoadedIndex:
        try:
            return self._context.index.here()
        except (ExplainedError, OSError) as error:
            reason = error.message if isinstance(error, ExplainedError) else str(error)
            warnings.append(f"cannot read the registry: {reason}")
            return snapshot()

    async def _all(self, loaded: LoadedIndex, warnings: list[str]) -> Iterable[KnownAgent]:
        context = self._context
        try:
            added: Sequence[AddedAgent] = context.added.all()
        except ExplainedError as error:
            warnings.append(error.message)
            added = ()
        receipts = installed(context.bin_directory)
        detected = await detect(loaded.index.agents, context.env)
        by_id: dict[str, KnownAgent] = {name: _built_in(name) for name in BUILT_IN}
        # The first agent with an id hides later ones.
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
            place=str(self._context.bin_directory / receipt.id / receipt.version),
        )

    def _offered(self, entry: RegistryEntry) -> KnownAgent:
        context, labels, how, here = self._context, (), "registry", False
        why = ""
        try:
            way = choose_way(entry, context.platform, context.has_tool)
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
    """The command line, with its variables first."""
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

"""Turn a config into the components of a chain, and report missing ones."""

import json
import os
import shlex
import sys
from collections.abc import Mapping
from typing import Any, Final, Protocol, cast

from msgspec import Struct, field
from msgspec.structs import replace

from localio.errors import ExplainedError, ProgramNotFoundError
from localio.files import trusted_places
from peerwire.errors import INTERNAL_ERROR, RpcError
from peerwire.jsonrpc.values import as_object
from peerwire.transports.command import Command
from symposium.catalog import OTHER_NAMES, agent_names, mod_names
from symposium.chain.blueprint import InProcess, Program
from symposium.chain.capabilities import Mode
from symposium.config.component_source import ComponentSource
from symposium.config.user_config import Config, ModEntry
from symposium.errors import SpecError
from symposium.planning.chain_spec import ChainSpec, MakeMod, program_on_path, read_chain
from symposium.run_mode.settings import Composition

_ENV_SCRIPT: Final = b"#!/usr/bin/env"
"""Start of a script whose interpreter is searched on PATH."""


class Resolver(Protocol):
    """Resolve sources that must be looked up or installed."""

    async def resolve(self, source: ComponentSource) -> str:
        """Return the start command as a SPEC.

        Raises:
            ExplainedError: the source cannot be installed.
        """
        ...


class NoResolver:
    """Resolver without a registry."""

    async def resolve(self, source: ComponentSource) -> str:
        """Refuse the source.

        Raises:
            SpecError: always.
        """
        raise SpecError(
            f"{source.display_name}: this command does not download {source.kind!r} sources",
            'in the config, write {"local": {"command": "…"}}',
        )


class RegistryResolver:
    """Resolver that installs missing programs into Symposium's own directory."""

    async def resolve(self, source: ComponentSource) -> str:
        """Return the start command.

        Raises:
            ExplainedError: the source cannot be installed.
        """
        from symposium.run_mode.registry_agents import obtained

        return await obtained(source)


class _Parts(Struct):
    """Components of a config's mods, while they are collected."""

    mods: list[MakeMod] = field(default_factory=list[MakeMod])
    names: list[str] = field(default_factory=list[str])
    secrets: list[str] = field(default_factory=list[str])
    servers: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    notes: list[str] = field(default_factory=list[str])


class Composer(Struct, frozen=True):
    """Make the components of a config.

    Attributes:
        resolver: installs missing sources.
        bridge: connection from agents to the MCP servers of mods.
    """

    resolver: Resolver
    bridge: Mode = "auto"

    async def compose(self, config: Config) -> Composition:
        """Make the chain of the enabled mods, in order, and the agent.

        Raises:
            ExplainedError: the agent is not available; an unavailable mod is omitted with a note.
            RpcError: a required mod is not available.
        """
        agent = _agent_away(await _reached(await self._agent(config.agent)))
        parts = _Parts()
        seen: set[str] = set()
        for entry in config.mods:
            if not entry.enabled:
                continue
            name = OTHER_NAMES.get(entry.name, entry.name)
            if entry.source is None and name in seen:
                parts.notes.append(
                    f"_The mod `{entry.name}` is left out: the chain has it already._\n\n"
                )
                continue
            seen.add(name)
            try:
                await self._add(entry, parts)
            except ExplainedError as error:
                if entry.optional is False:
                    data = {
                        "reason": "config",
                        "component": entry.name,
                        "detail": _explanation(error),
                    }
                    raise RpcError(INTERNAL_ERROR, data) from error
                parts.notes.append(
                    f"_The mod `{entry.name}` is left out: {_explanation(error)}_\n\n"
                )
        mods = list(parts.mods)
        if parts.servers:
            from symposium.run_mode.mcp_servers import (
                SERVERS,
                McpServers,
            )

            servers = parts.servers
            mods.append(
                lambda: InProcess(SERVERS, McpServers(servers, self.bridge), is_hidden=True)
            )
        secrets = [value for server in parts.servers for value in _secrets(server)]
        whole = (*agent.secrets, *parts.secrets, *secrets)
        chain = ChainSpec(tuple(mods), agent.agent, whole, self.bridge)
        return Composition(chain, parts.names, parts.notes)

    async def _add(self, entry: ModEntry, parts: "_Parts") -> None:
        if entry.kind == "mcp":
            parts.servers.append(await self._server(entry))
            return
        part = read_chain([await self._spec(entry.source or entry.name)], None)
        parts.mods += [await _mod(make, entry) for make in part.mods]
        parts.names.append(entry.name)
        parts.secrets += part.secrets

    async def _agent(self, agent: str | ComponentSource) -> ChainSpec:
        if isinstance(agent, str) and not agent.strip():
            raise SpecError("no agent is configured", "choose one with /symposium:config")
        try:
            return read_chain([], await self._spec(agent))
        except SpecError:
            if not isinstance(agent, str) or not agent.replace("-", "").isalnum():
                raise
            # A word that names no program here may be a registry id (acp-host §4.1).
            try:
                spec = await self.resolver.resolve(ComponentSource("registry", agent))
            except ExplainedError:
                spec = agent
            return read_chain([], spec)

    async def _spec(self, source: str | ComponentSource) -> str:
        if isinstance(source, str):
            return source
        if source.kind == "builtin" or _is_hidden_by_ours(source):
            return str(source.value)
        written = written_program(source)
        return await self.resolver.resolve(source) if written is None else json.dumps(written)

    async def _server(self, entry: ModEntry) -> Mapping[str, Any]:
        source = entry.source
        if source is None:
            reason = "an MCP server needs a `source`"
            raise SpecError(reason, 'such as {"local": {"command": "…"}}')
        if source.kind in {"http", "sse"}:
            return {"headers": [], **source.value, "type": source.kind, "name": entry.name}
        spec = json.loads(await self._program(source))
        command = Command((spec["command"], *spec.get("args", [])), _env(spec))
        if not _starts_directly(command.argv[0]):
            from localio.processes import reachable

            # The agent starts it and would not report a missing program.
            command = await reachable(command, os.environ)
        from symposium.run_mode.launch_directory import away_words

        argv = away_words(command.argv, is_recommended=entry.origin is not None)
        return {
            "name": entry.name,
            "command": argv[0],
            "args": list(argv[1:]),
            "env": [{"name": key, "value": text} for key, text in command.env.items()],
        }

    async def _program(self, source: ComponentSource) -> str:
        spec = await self._spec(source)
        if spec.lstrip().startswith("{"):
            return spec
        command, *arguments = shlex.split(spec)
        return json.dumps({"command": command, "args": arguments})


async def _mod(make: MakeMod, entry: ModEntry) -> MakeMod:
    """Make the mod with the config's name.

    Raises:
        NotFoundError: its program does not exist.
    """
    made = make()
    if not isinstance(made, Program):
        return make
    command = _with_our_python(made.command)
    if not _starts_directly(command.argv[0]):
        from localio.processes import reachable

        command = await reachable(command, os.environ)
    from symposium.run_mode.launch_directory import launch_elsewhere

    command = launch_elsewhere(command, is_recommended=entry.origin is not None)
    program = replace(made, name=entry.name, command=command)
    return lambda: program


def _with_our_python(command: Command) -> Command:
    """Run a mod's script with the interpreter of Symposium; keep other commands unchanged.

    `python mod.py` finds another interpreter in an editor that a dock started.
    """
    program, *arguments = command.argv
    if program not in {"python", "python3"} or not arguments or not arguments[0].endswith(".py"):
        return command
    return replace(command, argv=(sys.executable, *arguments))


def _agent_away(chain: ChainSpec) -> ChainSpec:
    agent = chain.agent
    if not isinstance(agent, Program):
        return chain
    from symposium.run_mode.launch_directory import launch_elsewhere

    return replace(
        chain, agent=replace(agent, command=launch_elsewhere(agent.command, is_recommended=False))
    )


async def _reached(chain: ChainSpec) -> ChainSpec:
    """Complete PATH for the agent's program: an editor started by a dock lacks it (users A-9)."""
    if not isinstance(chain.agent, Program) or _starts_directly(chain.agent.command.argv[0]):
        return chain
    from localio.processes import reachable

    try:
        command = await reachable(chain.agent.command, os.environ)
    except ProgramNotFoundError:
        if "/" in chain.agent.command.argv[0]:
            return chain  # a path: the start reports the best error
        raise
    return replace(chain, agent=replace(chain.agent, command=command))


def _starts_directly(word: str) -> bool:
    """Whether a program exists and is not a script that needs another program from PATH."""
    search_path = os.environ.get("PATH", os.defpath)
    if "/" not in word and len(trusted_places(search_path)) <= search_path.count(os.pathsep):
        return False  # the program must not come from a part of PATH in the workspace
    place = word if "/" in word else program_on_path(word)
    if place is None or not os.access(place, os.X_OK):
        return False
    try:
        # Do not block on a pipe.
        handle = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return True
    try:
        return os.read(handle, len(_ENV_SCRIPT)) != _ENV_SCRIPT
    except OSError:
        return True  # for example a directory: the start reports the best error
    finally:
        os.close(handle)


def written_program(source: ComponentSource) -> dict[str, Any] | None:
    """The program of a source that names one (acp-host §4.2); None for other sources."""
    detail = as_object(source.value)
    arguments: list[Any] = list(detail.get("args", []))
    words: list[Any]
    match source.kind:
        case "local":
            command, words = str(detail["command"]), arguments
        case "npx":
            command, words = "npx", ["-y", detail["package"], *arguments]
        case "uvx":
            command, words = "uvx", [detail["package"], *arguments]
        case "pipx":
            command, words = "pipx", ["run", detail["package"], *arguments]
        case "python":
            command, words = "python3", ["-m", detail["module"], *arguments]
        case _:
            return None
    named: dict[str, Any] = {"command": command, "args": words, "name": source.display_name}
    return named | {name: detail[name] for name in ("env", "cwd") if name in detail}


def _is_hidden_by_ours(source: ComponentSource) -> bool:
    """Whether a built-in component hides the registry entry of that id."""
    return source.kind == "registry" and source.value in {*agent_names(), *mod_names()}


def _explanation(error: ExplainedError) -> str:
    # Errors of the SPEC parser name an option of the command line.
    return str(error).removeprefix("--proxy: ")


def _env(spec: Mapping[str, Any]) -> Mapping[str, str]:
    env = spec.get("env", {})
    if isinstance(env, Mapping):
        return cast("Mapping[str, str]", env)
    pairs = cast("list[Mapping[str, str]]", env)
    return {pair["name"]: pair["value"] for pair in pairs}


def _secrets(server: Mapping[str, Any]) -> list[str]:
    pairs: list[Any] = [*server.get("env", []), *server.get("headers", [])]
    values = [as_object(pair).get("value") for pair in pairs]
    return [value for value in values if isinstance(value, str)]

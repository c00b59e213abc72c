"""Query the registry of agents and mods; print JSON."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from localio.text import plain_text
from peerwire.transports.command import Command
from symposium.catalog import builtin_mods
from symposium.cli.agent_views import print_json, server_json
from symposium.cli.app import CommandGroup
from symposium.cli.options import REGISTRY, example, run
from symposium.config.paths import config_file, paths
from symposium.config.user_config import ModEntry
from symposium.registry.entries import RegistryEntry, find_entry, find_mod_entry
from symposium.registry.index import LoadedIndex, RegistryContext, registry_context
from symposium.registry.listing import BUILT_IN
from symposium.registry.provision import obtain_agent, obtain_source, read_entry, resolved
from symposium.run_mode.workspace_offers import CustomMods, custom_mods

ID = click.argument("entry_id", metavar="ID|JSON")
_ALWAYS_JSON = click.option(
    "--json", "as_json", is_flag=True, help="Has no effect: this command always prints JSON."
)


@click.group(
    "registry", cls=CommandGroup, epilog=example("symposium registry resolve-agent gemini")
)
def command() -> None:
    """Query the registry of agents and mods. Every command prints JSON."""


@command.command("list", epilog=example("symposium registry list"))
@_ALWAYS_JSON
@REGISTRY
def list_agents(*, as_json: bool, address: str | None) -> int:
    """List agents: first the built-in agents, then the agents in the registry."""
    del as_json  # always JSON, as other tools expect
    registry = registry_context(os.environ, address)

    async def work() -> int:
        loaded = await _current(registry)
        print_json(_rows(BUILT_IN, loaded.index.agents))
        return 0

    return run(work())


@command.command("list-mods", epilog=example("symposium registry list-mods"))
@_ALWAYS_JSON
@REGISTRY
def list_mods(*, as_json: bool, address: str | None) -> int:
    """List mods: built-in mods, then those of the registry, the config, and recommendations."""
    del as_json  # as above
    registry = registry_context(os.environ, address)

    async def work() -> int:
        loaded = await _current(registry)
        rows = _rows({mod.name: mod.summary for mod in builtin_mods()}, loaded.index.mods)
        known = {row["id"] for row in rows}
        custom = _custom()
        more = [name for name in custom.mods if name not in known]
        rows += [{"id": each, "name": each, "description": custom.whose[each]} for each in more]
        print_json(rows)
        return 0

    return run(work())


@command.command("resolve-agent", epilog=example("symposium registry resolve-agent gemini"))
@ID
@_ALWAYS_JSON
@REGISTRY
def resolve_agent(entry_id: str, *, as_json: bool, address: str | None) -> int:
    """Print the command that starts an agent, as JSON; install the agent if needed."""
    del as_json  # as above
    registry = registry_context(os.environ, address)

    async def work() -> int:
        print_json(await _agent_server(entry_id, registry))
        return 0

    return run(work())


@command.command("resolve-mod", epilog=example("symposium registry resolve-mod ferris"))
@ID
@_ALWAYS_JSON
@REGISTRY
def resolve_mod(entry_id: str, *, as_json: bool, address: str | None) -> int:
    """Print the command that starts a mod, as JSON; install the mod if needed."""
    del as_json  # as above
    registry = registry_context(os.environ, address)

    async def work() -> int:
        if entry_id in {mod.name for mod in builtin_mods()}:
            print_json(_ours(entry_id, "run-with", "--proxy", entry_id))
            return 0
        mod = _custom().mods.get(entry_id)
        if mod is not None:
            print_json(await _custom_server(mod, registry))
            return 0
        print_json(await _entry_server(await _mod_entry(entry_id, registry), registry))
        return 0

    return run(work())


async def _agent_server(entry_id: str, registry: RegistryContext) -> Mapping[str, object]:
    if entry_id.lstrip().startswith("{"):
        return await _entry_server(read_entry(entry_id), registry)
    if entry_id in BUILT_IN:
        return _ours(entry_id, entry_id)
    if registry.has_agent(entry_id):
        return server_json((await obtain_agent(entry_id, registry)).command, entry_id)
    loaded = await _current(registry)
    return await _entry_server(find_entry(loaded.index, entry_id), registry)


async def _mod_entry(entry_id: str, registry: RegistryContext) -> RegistryEntry:
    if entry_id.lstrip().startswith("{"):
        return read_entry(entry_id)
    return find_mod_entry((await _current(registry)).index, entry_id)


async def _entry_server(entry: RegistryEntry, registry: RegistryContext) -> Mapping[str, object]:
    return server_json((await resolved(entry, registry)).command, entry.name)


async def _current(registry: RegistryContext) -> LoadedIndex:
    loaded = await registry.index.current()
    click.echo(loaded.describe(), err=True)
    return loaded


def _custom() -> CustomMods:
    found = custom_mods(config_file(None), paths(), os.environ, Path.cwd())
    if found.problem:
        click.echo(plain_text(found.problem), err=True)
    return found


async def _custom_server(mod: ModEntry, registry: RegistryContext) -> Mapping[str, object]:
    assert mod.source is not None
    if mod.source.kind in {"http", "sse"}:
        return {"type": mod.source.kind, "headers": [], **mod.source.value, "name": mod.name}
    return server_json((await obtain_source(mod.source, registry)).command, mod.name)


def _ours(name: str, *words: str) -> Mapping[str, object]:
    return server_json(Command((sys.executable, "-P", "-m", "symposium", *words)), name)


def _rows(ours: Mapping[str, str], entries: Sequence[RegistryEntry]) -> list[dict[str, str]]:
    """List built-in ones first; they hide registry entries with the same id."""
    rows = [{"id": name, "name": name, "description": text} for name, text in ours.items()]
    return rows + [
        {"id": each.id, "name": each.name, "version": each.version, "description": each.description}
        for each in entries
        if each.id not in ours
    ]

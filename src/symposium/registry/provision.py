"""Resolve a component's source to its start command; install the component if needed."""

import hashlib
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, cast

import msgspec

from localio.errors import ExplainedError
from localio.http import INDEX_TIME, HttpRequest, fetch
from peerwire.transports.command import Command
from symposium.catalog import is_built_in
from symposium.config.component_source import ComponentSource
from symposium.errors import SpecError
from symposium.registry.entries import (
    MAX_INDEX,
    Distribution,
    FromLocal,
    FromPackage,
    Local,
    Package,
    RegistryCrate,
    RegistryEntry,
    RegistryFormatError,
    choose_way,
    find_entry,
    parse_entry,
    passing_command,
)
from symposium.registry.index import (
    InstallReceipt,
    RegistryContext,
    id_of,
    installed_command,
    installed_versions,
    read_receipt,
)


@dataclass(frozen=True, slots=True)
class StartCommand:
    """A command that starts the component.

    Attributes:
        receipt: of the installed component; None if it starts without an installation.
        note: why an installation failed; empty if nothing did.
    """

    command: Command
    receipt: InstallReceipt | None = None
    note: str = ""


async def provision(entry: RegistryEntry, context: RegistryContext) -> StartCommand:
    """Install an entry in its version if it is missing, and return its command.

    If a package cannot be installed, its tool runs it instead, and the note says why.

    Raises:
        ExplainedError: there is no way to start it.
    """
    if (receipt := read_receipt(context.bin_directory / entry.id / entry.version)) is not None:
        return StartCommand(installed_command(context.bin_directory, receipt), receipt)
    way = choose_way(entry, context.platform, context.has_tool)
    if isinstance(way, FromLocal):
        return StartCommand(passing_command(way, entry.name))
    # Importing archives and installers takes a tenth of a second; most starts need neither.
    from symposium.registry.installers import install

    tool = f" with {way.tool}" if isinstance(way, FromPackage) else ""
    context.notify(f"installing {entry.id} {entry.version}{tool}; this can take a minute …")
    try:
        receipt = await install(entry, way, context.bin_directory)
    except ExplainedError as error:
        if not isinstance(way, FromPackage):
            raise
        note = f"{entry.id} could not be installed ({error.message}); {way.tool} runs it each time"
        return StartCommand(passing_command(way, entry.name), note=note)
    return StartCommand(installed_command(context.bin_directory, receipt), receipt)


async def resolved(entry: RegistryEntry, context: RegistryContext) -> StartCommand:
    """Same as `provision`, but leave packages to their tool (acp-host §4.10).

    Raises:
        ExplainedError: there is no way to start it.
    """
    is_here = read_receipt(context.bin_directory / entry.id / entry.version) is not None
    way = None if is_here else choose_way(entry, context.platform, context.has_tool)
    if isinstance(way, FromPackage):
        return StartCommand(passing_command(way, entry.name))
    return await provision(entry, context)


async def obtain_agent(agent_id: str, context: RegistryContext) -> StartCommand:
    """Command of an added, installed, or registry agent.

    An installed agent starts without using the network; `symposium agents update` updates it.

    Raises:
        ExplainedError: it cannot be installed, or no entry has that id.
    """
    if is_built_in(agent_id):
        # A built-in agent hides an agent of the registry with its id (acp-host §4.10).
        return await obtain_source(ComponentSource("builtin", agent_id), context)
    if (added := context.added.find(agent_id)) is not None:
        return StartCommand(added.command)
    if versions := installed_versions(context.bin_directory / agent_id):
        return StartCommand(installed_command(context.bin_directory, versions[-1]), versions[-1])
    loaded = await context.index.current()
    return await provision(find_entry(loaded.index, agent_id), context)


async def obtain_source(source: ComponentSource, context: RegistryContext) -> StartCommand:
    """Command of a component from its source in a config (acp-host §4.2).

    Raises:
        ExplainedError: it cannot be installed, or is not a program.
    """
    if source.kind == "registry":
        return await obtain_agent(source.display_name, context)
    if (command := _at_once(source)) is not None:
        return StartCommand(command)
    return await provision(await _entry_of(source), context)


def _at_once(source: ComponentSource) -> Command | None:
    """Command of a component that needs no installation; None for other sources."""
    name = source.display_name
    match source.kind:
        case "builtin":
            return Command((sys.executable, "-P", "-m", "symposium", name), {}, name)
        case "python":
            value: dict[str, Any] = source.value
            words = (str(value["module"]), *map(str, value.get("args", ())))
            return Command((sys.executable, "-P", "-m", *words), {}, name)
        case "local":
            return passing_command(FromLocal(_read(source, Local)), name)
        case "npx" | "uvx" | "pipx" as tool:
            return passing_command(FromPackage(tool, _read(source, Package)), name)
        case "http" | "sse":
            raise SpecError(f"{name} is the address of an MCP server, not a program", "")
        case _:
            return None


async def _entry_of(source: ComponentSource) -> RegistryEntry:
    """The registry entry equivalent to a source."""
    if source.kind == "url":
        return await fetch_entry(str(source.value))
    if source.kind == "cargo":
        from symposium.registry.installers import newest_version

        crate = _read(source, RegistryCrate)
        version = crate.version or await newest_version(crate.crate)
        return _entry(crate.crate, version, Distribution(cargo=crate))
    targets = cast("dict[str, dict[str, Any]]", source.value)
    first = next(iter(targets.values()), dict[str, Any]())
    # A source has no version; its archive URLs serve as one.
    version = hashlib.sha256(msgspec.json.encode(targets)).hexdigest()[:16]
    program = PurePosixPath(str(first.get("cmd", "binary"))).stem
    ways = {"binary": targets}
    members = {"id": _id(program), "name": program, "version": version, "description": ""}
    return parse_entry({**members, "distribution": ways})


async def fetch_entry(url: str) -> RegistryEntry:
    """Download one entry.

    Raises:
        FetchError: the download failed.
        RegistryFormatError: it is not a valid entry.
    """
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "entry"
        await fetch(HttpRequest(url, INDEX_TIME, MAX_INDEX), file)
        return read_entry(file.read_bytes())


def read_entry(text: bytes | str) -> RegistryEntry:
    """Parse an entry.

    Raises:
        RegistryFormatError: the entry is invalid.
    """
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise RegistryFormatError(f"the entry is not JSON: {error}", "") from error
    return parse_entry(value)


def _entry(name: str, version: str, ways: Distribution) -> RegistryEntry:
    return RegistryEntry(
        id=_id(name), name=name, version=version, description="", distribution=ways
    )


def _id(name: str) -> str:
    return id_of(Command((name,)))


def _read(source: ComponentSource, kind: type[Any]) -> Any:
    try:
        return msgspec.convert(source.value, kind)
    except msgspec.ValidationError as error:
        raise SpecError(f"malformed source {source.kind}: {error}", "") from error

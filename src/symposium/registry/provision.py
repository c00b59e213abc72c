"""From where a component comes to the command that starts it, installing it first if need be."""

import hashlib
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, cast

import msgspec

from localio.errors import ExplainedError
from localio.http import INDEX_TIME, fetch
from localio.http_values import HttpRequest
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
        receipt: of what is installed; None if it starts without being installed.
        note: why it is not installed although it should be; empty if all is well.
    """

    command: Command
    receipt: InstallReceipt | None = None
    note: str = ""


async def provision(entry: RegistryEntry, around: RegistryContext) -> StartCommand:
    """Install an entry in its version, if it is missing, and return its command.

    A package that cannot be installed is run by its tool instead, and the note says why.

    Raises:
        ExplainedError: it cannot be had.
    """
    if (receipt := read_receipt(around.bin_directory / entry.id / entry.version)) is not None:
        return StartCommand(installed_command(around.bin_directory, receipt), receipt)
    way = choose_way(entry, around.platform, around.has_tool)
    if isinstance(way, FromLocal):
        return StartCommand(passing_command(way, entry.name))
    # Archives and installers are a tenth of a second of imports that a start seldom needs.
    from symposium.registry.installers import install  # noqa: PLC0415 - as said above

    tool = f" with {way.tool}" if isinstance(way, FromPackage) else ""
    around.notify(f"installing {entry.id} {entry.version}{tool}; this can take a minute …")
    try:
        receipt = await install(entry, way, around.bin_directory)
    except ExplainedError as error:
        if not isinstance(way, FromPackage):
            raise
        note = f"{entry.id} could not be installed ({error.message}); {way.tool} runs it each time"
        return StartCommand(passing_command(way, entry.name), note=note)
    return StartCommand(installed_command(around.bin_directory, receipt), receipt)


async def resolved(entry: RegistryEntry, around: RegistryContext) -> StartCommand:
    """The same, but packages that are not installed are left to their tool (acp-host §4.10).

    Raises:
        ExplainedError: it cannot be had.
    """
    is_here = read_receipt(around.bin_directory / entry.id / entry.version) is not None
    way = None if is_here else choose_way(entry, around.platform, around.has_tool)
    if isinstance(way, FromPackage):
        return StartCommand(passing_command(way, entry.name))
    return await provision(entry, around)


async def obtain_agent(agent_id: str, around: RegistryContext) -> StartCommand:
    """An agent by id: added by hand, installed, or else of the registry.

    What is installed starts without asking the network; `symposium agents update` renews it.

    Raises:
        ExplainedError: it cannot be installed, or no entry has that id.
    """
    if is_built_in(agent_id):
        # What the registry calls the same is hidden by it (acp-host §4.10).
        return await obtain_source(ComponentSource("builtin", agent_id), around)
    if (added := around.added.find(agent_id)) is not None:
        return StartCommand(added.command)
    if versions := installed_versions(around.bin_directory / agent_id):
        return StartCommand(installed_command(around.bin_directory, versions[-1]), versions[-1])
    loaded = await around.index.current()
    return await provision(find_entry(loaded.index, agent_id), around)


async def obtain_source(source: ComponentSource, around: RegistryContext) -> StartCommand:
    """A component by its source, as a config names it (acp-host §4.2).

    Raises:
        ExplainedError: it cannot be had, or is not a program.
    """
    if source.kind == "registry":
        return await obtain_agent(source.display_name, around)
    if (command := _at_once(source)) is not None:
        return StartCommand(command)
    return await provision(await _entry_of(source), around)


def _at_once(source: ComponentSource) -> Command | None:
    """The command of what starts without being installed; None for anything else."""
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
            raise SpecError(f"{name} is an MCP server at an address, and a program is wanted", "")
        case _:
            return None


async def _entry_of(source: ComponentSource) -> RegistryEntry:
    """The registry entry equivalent to a source."""
    if source.kind == "url":
        return await fetch_entry(str(source.value))
    if source.kind == "cargo":
        from symposium.registry.installers import newest_version  # noqa: PLC0415 - as in obtain

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
    """The one entry that a URL gives.

    Raises:
        FetchError: it did not come.
        RegistryFormatError: it is no entry.
    """
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "entry"
        await fetch(HttpRequest(url, INDEX_TIME, MAX_INDEX), file)
        return read_entry(file.read_bytes())


def read_entry(text: bytes | str) -> RegistryEntry:
    """An entry from its JSON.

    Raises:
        RegistryFormatError: the entry is invalid.
    """
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise RegistryFormatError(f"the entry is no JSON: {error}", "") from error
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
        raise SpecError(f"the source {source.kind} is malformed: {error}", "") from error

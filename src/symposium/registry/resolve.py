"""Which of an entry's ways is taken on this machine, and the command it comes to; no I/O."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from peerwire.transports.command import Command
from symposium.errors import NotFoundError
from symposium.registry.entries import Archive, Crate, Entry, Index, Local, Package

HasTool: TypeAlias = Callable[[str], bool]
"""Whether a program of that name can be found."""

_TOOLS: Final[dict[Literal["uvx", "npx", "pipx"], tuple[str, ...]]] = {
    "uvx": ("uvx",),
    "npx": ("npx", "-y"),
    "pipx": ("pipx", "run"),
}


@dataclass(frozen=True, slots=True)
class FromLocal:
    """It is here already."""

    target: Local


@dataclass(frozen=True, slots=True)
class FromArchive:
    """It is downloaded and unpacked."""

    target: Archive


@dataclass(frozen=True, slots=True)
class FromPackage:
    """A package's program, which `tool` can run without installing it."""

    tool: Literal["uvx", "npx", "pipx"]
    target: Package


@dataclass(frozen=True, slots=True)
class FromCrate:
    """A crate's program, built or fetched by cargo."""

    target: Crate


Way: TypeAlias = FromLocal | FromArchive | FromPackage | FromCrate


def find_entry(index: Index, agent_id: str) -> Entry:
    """The agent of that id.

    Raises:
        NotFoundError: there is none.
    """
    for entry in index.agents:
        if entry.id == agent_id:
            return entry
    raise NotFoundError(
        f"Agent '{agent_id}' not found in registry",
        "see `symposium agents list` for those there are",
    )


def find_mod_entry(index: Index, mod_id: str) -> Entry:
    """The mod of that id.

    Raises:
        NotFoundError: there is none.
    """
    for entry in index.mods:
        if entry.id == mod_id:
            return entry
    raise NotFoundError(
        f"Mod '{mod_id}' not found in registry",
        "see `symposium registry list-mods` for those there are",
    )


def choose_way(entry: Entry, platform: str, has_tool: HasTool) -> Way:
    """The first way whose tool is here: local, binary, uvx, npx, pipx, cargo (acp-host §4.10).

    Raises:
        NotFoundError: no way leads to it on this machine; the hint names the tools that would.
    """
    ways = entry.distribution
    if ways.local and has_tool(ways.local.command):
        return FromLocal(ways.local)
    if ways.binary and platform in ways.binary:
        return FromArchive(ways.binary[platform])
    packages: tuple[tuple[Literal["uvx", "npx", "pipx"], Package | None], ...] = (
        ("uvx", ways.uvx),
        ("npx", ways.npx),
        ("pipx", ways.pipx),
    )
    for tool, package in packages:
        if package and has_tool(tool):
            return FromPackage(tool, package)
    if ways.cargo and has_tool("cargo"):
        return FromCrate(ways.cargo)
    raise NotFoundError(
        f"No compatible distribution found for agent '{entry.id}' on platform {platform}",
        _remedy(entry),
    )


def passing_command(way: FromLocal | FromPackage, name: str) -> Command:
    """The command that needs nothing installed, in the forms of acp-host §4.10."""
    match way:
        case FromLocal(target):
            return Command((target.command, *target.args), dict(target.env), name)
        case FromPackage(tool, target):
            argv = (*_TOOLS[tool], target.package, *target.args)
            return Command(argv, dict(target.env), name)


def _remedy(entry: Entry) -> str:
    ways = entry.distribution
    tools = [
        name
        for name, way in (
            ("uvx", ways.uvx),
            ("npx", ways.npx),
            ("pipx", ways.pipx),
            ("cargo", ways.cargo),
            (ways.local.command if ways.local else "", ways.local),
        )
        if way
    ]
    platforms = ", ".join(sorted(ways.binary or {}))
    remedies = [f"install {' or '.join(tools)}"] if tools else []
    remedies += [f"its programs are for {platforms}"] if platforms else []
    return "; ".join(remedies) or "the registry names no way to get it that we know"

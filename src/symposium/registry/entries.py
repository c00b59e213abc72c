"""Format of the registry, its platforms, and the choice of a distribution."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final, Literal, TypeAlias, cast

import msgspec
from msgspec import Struct

from peerwire.transports.command import Command
from symposium.errors import NotFoundError, SymposiumError

MAX_INDEX: Final = 8 * 1024 * 1024
"""Largest accepted index in bytes; the official one has some hundred thousand."""

_ID: Final = re.compile(r"[a-z][a-z0-9-]*", re.ASCII)
_VERSION: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}", re.ASCII)
_NPM: Final = re.compile(
    r"(?:@[A-Za-z0-9~][\w.~-]*/)?[A-Za-z0-9~][\w.~-]*(?:@[\w.+^~*<>=|-]+)?", re.ASCII
)
_PYTHON: Final = re.compile(
    r"[A-Za-z0-9][\w.-]*(?:\[[\w.,-]+\])?(?:(?:@|[=~<>!]=|===|[<>])[\w.+*!,<>=~-]+)?", re.ASCII
)
_CRATE: Final = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_SHA256: Final = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)


class RegistryFormatError(SymposiumError):
    """An index, or one of its entries, is malformed."""


class Package(Struct, frozen=True, kw_only=True):
    """An npm or Python package, with a version after `@` or `==` if it is pinned."""

    package: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}


class Archive(Struct, frozen=True, kw_only=True):
    """A file to download for one platform, and the program inside."""

    archive: str
    cmd: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    sha256: str | None = None


class Local(Struct, frozen=True, kw_only=True):
    """A program that is already on this machine."""

    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}


class RegistryCrate(Struct, frozen=True, kw_only=True):
    """A Rust crate. `version` defaults to the entry's, `binary` to the only program."""

    crate: str
    version: str | None = None
    binary: str | None = None
    args: tuple[str, ...] = ()


class Distribution(Struct, frozen=True, kw_only=True):
    """Ways to get an agent; unknown ways are ignored."""

    local: Local | None = None
    binary: dict[str, Archive] | None = None
    uvx: Package | None = None
    npx: Package | None = None
    pipx: Package | None = None
    cargo: RegistryCrate | None = None


class RegistryEntry(Struct, frozen=True, kw_only=True):
    """Agent or mod that the registry lists."""

    id: str
    name: str
    version: str
    description: str
    distribution: Distribution


@dataclass(frozen=True, slots=True)
class Index:
    """Contents of a registry.

    Attributes:
        agents: in the registry's order; the first of two with the same id.
        mods: the same, from `mods` or `extensions`.
        stamp: version or date of the registry; empty if it has neither.
        problems: a sentence for each entry that could not be read.
    """

    agents: tuple[RegistryEntry, ...]
    mods: tuple[RegistryEntry, ...]
    stamp: str
    problems: tuple[str, ...]


def parse_index(data: bytes) -> Index:
    """Parse an index.

    Raises:
        RegistryFormatError: it is not a JSON object with a list of agents.
    """
    try:
        value: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RegistryFormatError(f"the registry's index is not JSON: {error}", "") from error
    members = cast("dict[str, Any]", value if isinstance(value, dict) else {})
    if not isinstance(members.get("agents"), list):
        raise RegistryFormatError('the registry\'s index has no list "agents"', "")
    problems: list[str] = []
    mods = members.get("mods", members.get("extensions", []))
    stamp = members.get("date", members.get("version", ""))
    return Index(
        _entries(members["agents"], "agents", problems),
        _entries(mods, "mods", problems),
        stamp if isinstance(stamp, str) else "",
        tuple(problems),
    )


def parse_entry(value: Any) -> RegistryEntry:
    """Parse one decoded entry.

    Raises:
        RegistryFormatError: a member is missing or invalid; the message names it.
    """
    try:
        entry = msgspec.convert(value, RegistryEntry)
    except (msgspec.ValidationError, RecursionError) as error:
        raise RegistryFormatError(f"an entry of the registry is malformed: {error}", "") from error
    if problem := _problem(entry):
        raise RegistryFormatError(f"the registry's entry {entry.id!r}: {problem}", "")
    return entry


def _entries(value: Any, where: str, problems: list[str]) -> tuple[RegistryEntry, ...]:
    if not isinstance(value, list):
        problems.append(f'"{where}" is not a list')
        return ()
    found: dict[str, RegistryEntry] = {}
    for at, each in enumerate(cast("list[Any]", value)):
        try:
            entry = parse_entry(each)
        except RegistryFormatError as error:
            problems.append(f"{where}[{at}]: {error.message}")
            continue
        if entry.id in found:
            problems.append(f"{where}[{at}]: duplicate id {entry.id!r}; using the first")
        found.setdefault(entry.id, entry)
    return tuple(found.values())


def _problem(entry: RegistryEntry) -> str:
    """Reason to reject an entry, or empty. Ids and versions become names of directories."""
    if not _ID.fullmatch(entry.id):
        return "an id consists of lower-case letters, digits, and hyphens"
    if not _VERSION.fullmatch(entry.version):
        return f"{entry.version[:80]!r} is not a version"
    ways = entry.distribution
    names = [(_NPM, ways.npx.package)] if ways.npx else []
    names += [(_PYTHON, way.package) for way in (ways.uvx, ways.pipx) if way]
    if (crate := ways.cargo) is not None:
        names += [(_CRATE, crate.crate), (_CRATE, crate.binary or "any")]
        names.append((_VERSION, crate.version or "1"))
    # The tool would accept an option, a path, or a URL as well; a registry may not choose those.
    wrong = next((name for pattern, name in names if not pattern.fullmatch(name)), None)
    if wrong is not None:
        return f"{wrong[:80]!r} is not the name of a package"
    problems = ((key, _archive_problem(target)) for key, target in (ways.binary or {}).items())
    return next((f"{key}: {problem}" for key, problem in problems if problem), "")


def _archive_problem(target: Archive) -> str:
    program = PurePosixPath(target.cmd)
    if program.is_absolute() or ".." in program.parts or not program.name or "\\" in target.cmd:
        return f"{target.cmd[:80]!r} is not a path of a program inside an archive"
    if target.sha256 is not None and not _SHA256.fullmatch(target.sha256):
        return "sha256 is not 64 hexadecimal digits"
    return ""


_SYSTEMS: Final = {"darwin": "darwin", "linux": "linux", "win32": "windows", "windows": "windows"}
_MACHINES: Final = {
    "aarch64": "aarch64",
    "arm64": "aarch64",
    "x86_64": "x86_64",
    "amd64": "x86_64",
}

PLATFORMS: Final = tuple(
    f"{system}-{machine}"
    for system in ("darwin", "linux", "windows")
    for machine in ("aarch64", "x86_64")
)


def platform_key(system: str, machine: str) -> str:
    """Registry key for the values of `sys.platform` and `os.uname().machine`.

    An unknown machine gets a key as well, which matches no entry.
    """
    system, machine = system.lower(), machine.lower()
    return f"{_SYSTEMS.get(system, system)}-{_MACHINES.get(machine, machine)}"


HasTool: TypeAlias = Callable[[str], bool]
"""Whether a program with that name exists."""

_TOOLS: Final[dict[Literal["uvx", "npx", "pipx"], tuple[str, ...]]] = {
    "uvx": ("uvx",),
    "npx": ("npx", "-y"),
    "pipx": ("pipx", "run"),
}


@dataclass(frozen=True, slots=True)
class FromLocal:
    """The program is on this machine already."""

    target: Local


@dataclass(frozen=True, slots=True)
class FromArchive:
    """A program in an archive to download."""

    target: Archive


@dataclass(frozen=True, slots=True)
class FromPackage:
    """A package's program, which `tool` can run without installing it."""

    tool: Literal["uvx", "npx", "pipx"]
    target: Package


@dataclass(frozen=True, slots=True)
class FromCrate:
    """A crate's program, built or fetched by cargo."""

    target: RegistryCrate


Way: TypeAlias = FromLocal | FromArchive | FromPackage | FromCrate


def find_entry(index: Index, agent_id: str) -> RegistryEntry:
    """Return the agent with that id.

    Raises:
        NotFoundError: it does not exist.
    """
    for entry in index.agents:
        if entry.id == agent_id:
            return entry
    raise NotFoundError(
        f"Agent '{agent_id}' not found in registry",
        "run `symposium agents list` to see the known agents",
    )


def find_mod_entry(index: Index, mod_id: str) -> RegistryEntry:
    """Return the mod with that id.

    Raises:
        NotFoundError: it does not exist.
    """
    for entry in index.mods:
        if entry.id == mod_id:
            return entry
    raise NotFoundError(
        f"Mod '{mod_id}' not found in registry",
        "run `symposium registry list-mods` to see the known mods",
    )


def choose_way(entry: RegistryEntry, platform: str, has_tool: HasTool) -> Way:
    """First way whose tool is here: local, binary, uvx, npx, pipx, cargo (acp-host §4.10).

    Raises:
        NotFoundError: no way works on this machine; the hint names the missing tools.
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
    """Command of a program that needs no installation (acp-host §4.10)."""
    match way:
        case FromLocal(target):
            return Command((target.command, *target.args), dict(target.env), name)
        case FromPackage(tool, target):
            argv = (*_TOOLS[tool], target.package, *target.args)
            return Command(argv, dict(target.env), name)


def _remedy(entry: RegistryEntry) -> str:
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
    return "; ".join(remedies) or "the registry names no supported way to get it"

"""Install an agent from an archive, or with cargo, npm, or Python's tools."""

import asyncio
import fcntl
import os
import re
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, TypeVar
from urllib.parse import quote, unquote, urlsplit

import msgspec

from localio.archives import ExtractionLimit, unpack
from localio.http import ARCHIVE_TIME, INDEX_TIME, MAX_ARCHIVE, HttpRequest, fetch
from localio.processes import ToolError, look_up, run_tool, usual_path
from symposium.errors import SymposiumError
from symposium.registry.entries import (
    Archive,
    FromArchive,
    FromCrate,
    FromPackage,
    Package,
    RegistryCrate,
    RegistryEntry,
)
from symposium.registry.index import InstallReceipt, installed_versions, read_receipt, write_receipt


class InstallError(SymposiumError):
    """An agent could not be installed."""


@dataclass(frozen=True, slots=True)
class Built:
    """Result of an installation in a directory.

    Attributes:
        argv: start command; a word that begins with `./` is a path in that directory.
        origin: the archive's URL, or the requested package.
        sha256: of the archive, if there was one.
        is_verified: whether the published sum is the same.
        integrity: the package's checksum, as its registry reports it.
    """

    argv: tuple[str, ...]
    origin: str
    sha256: str | None = None
    is_verified: bool = False
    integrity: str | None = None


def one_program(names: list[str], wanted: str, source: str) -> str:
    """Choose a package's program: the only one, or the one with the wanted name.

    Raises:
        InstallError: neither exists; the message lists the programs.
    """
    if len(names) == 1:
        return names[0]
    if wanted in names:
        return wanted
    if not names:
        raise InstallError(f"{source} contains no executable", "it may be a library")
    raise InstallError(f"{source} contains several programs: {', '.join(sorted(names))}", "")


def path_in(directory: Path, place: Path) -> str:
    """Relative path in a directory, in the form of a receipt."""
    return f"./{place.relative_to(directory).as_posix()}"


async def build_from_archive(target: Archive, directory: Path) -> Built:
    """Download, verify, and unpack an archive into an empty directory.

    Raises:
        FetchError: the download failed.
        InstallError: the checksum does not match, or the program is missing.
        UnpackError: the archive is damaged or unsafe.
    """
    download = directory / ".download"
    got = await fetch(HttpRequest(target.archive, ARCHIVE_TIME, MAX_ARCHIVE), download)
    if target.sha256 is not None and got.sha256 != target.sha256.lower():
        raise InstallError(
            f"{target.archive} has the SHA-256 {got.sha256}, but the registry publishes "
            f"{target.sha256.lower()}",
            "try again later, or report it to the publisher",
        )
    name = PurePosixPath(unquote(urlsplit(target.archive).path)).name
    program = directory / PurePosixPath(target.cmd)
    if await asyncio.to_thread(unpack, download, name, directory, ExtractionLimit()):
        download.unlink()
    else:
        program.parent.mkdir(parents=True, exist_ok=True)
        download.rename(program)
    if not program.is_file():
        raise InstallError(f"{target.archive} does not contain {target.cmd}", "")
    program.chmod(0o755)
    return Built(
        (f"./{PurePosixPath(target.cmd)}", *target.args),
        target.archive,
        sha256=got.sha256,
        is_verified=target.sha256 is not None,
    )


CRATES: Final = "https://crates.io/api/v1/crates"

_Kind = TypeVar("_Kind")

_MAX_ANSWER: Final = 4 * 1024 * 1024


class _Crate(msgspec.Struct, frozen=True):
    max_stable_version: str | None = None
    max_version: str = ""


class _Newest(msgspec.Struct, frozen=True):
    crate: _Crate


class _Version(msgspec.Struct, frozen=True):
    bin_names: tuple[str | None, ...] = ()


class _Answer(msgspec.Struct, frozen=True):
    version: _Version


async def crate_programs(crate: str, version: str, *, address: str = CRATES) -> list[str]:
    """List the programs of a crate's version, from crates.io.

    Raises:
        FetchError: the request failed.
        InstallError: the response is malformed.
    """
    answer = await _ask(f"{address}/{quote(crate, safe='')}/{quote(version, safe='')}", _Answer)
    return [name for name in answer.version.bin_names if name]


async def newest_version(crate: str, *, address: str = CRATES) -> str:
    """Return the newest version of a crate, preferably a stable one.

    Raises:
        FetchError: the request failed.
        InstallError: the response is malformed.
    """
    found = (await _ask(f"{address}/{quote(crate, safe='')}", _Newest)).crate
    return found.max_stable_version or found.max_version


async def _ask(url: str, kind: type[_Kind]) -> _Kind:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "answer"
        await fetch(HttpRequest(url, INDEX_TIME, _MAX_ANSWER), file)
        try:
            return msgspec.json.decode(file.read_bytes(), type=kind)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise InstallError(f"malformed response from {url}: {error}", "") from error


async def build_from_cargo(
    target: RegistryCrate, version: str, directory: Path, *, address: str = CRATES
) -> Built:
    """Install into an empty directory.

    Raises:
        ToolError: cargo failed.
        InstallError: the crate contains no program, or several.
    """
    version = target.version or version
    origin = f"{target.crate}@{version}"
    if target.binary is None:
        names = await crate_programs(target.crate, version, address=address)
        program = one_program(names, target.crate, f"the crate {origin}")
    else:
        program = target.binary
    if not await _fetched(origin, directory):
        await run_tool(
            [
                *("cargo", "install", "--root", str(directory), "--version", version),
                *("--bin", program, "--", target.crate),
            ],
            cwd=directory,
        )
    if not (directory / "bin" / program).is_file():
        raise InstallError(f"cargo installed {origin} without its program {program}", "")
    return Built((f"./bin/{program}", *target.args), origin)


async def _fetched(origin: str, directory: Path) -> bool:
    """Try cargo-binstall; whether it exists and downloaded a prebuilt program."""
    if look_up("cargo-binstall", usual_path(os.environ).split(os.pathsep)) is None:
        return False
    argv = ["cargo", "binstall", "--no-confirm", "--root", str(directory), "--", origin]
    try:
        await run_tool(argv, cwd=directory)
    except ToolError:
        return False
    return True


class _Manifest(msgspec.Struct, frozen=True):
    name: str = ""
    dependencies: dict[str, str] = {}
    bin: str | dict[str, str] = {}


async def build_from_npm(target: Package, directory: Path) -> Built:
    """Install into an empty directory; install scripts run, as with npx.

    Raises:
        ToolError: npm failed.
        InstallError: the package contains no program, or several.
    """
    await run_tool(
        [
            *("npm", "install", "--prefix", str(directory), "--no-audit", "--no-fund"),
            *("--no-update-notifier", "--loglevel=error", "--", target.package),
        ],
        cwd=directory,
    )
    asked = list(_manifest(directory / "package.json").dependencies)
    if len(asked) != 1:
        raise InstallError(f"npm did not report what it installed for {target.package}", "")
    name, last = asked[0], asked[0].rpartition("/")[2]
    programs = _manifest(directory / "node_modules" / name / "package.json").bin
    names = [last] if isinstance(programs, str) else list(programs)
    program = one_program(names, last, f"the npm package {name}")
    link = directory / "node_modules" / ".bin" / program
    if not link.exists():
        raise InstallError(f"npm installed {name} without its program {program}", "")
    return Built(
        (path_in(directory, link), *target.args),
        target.package,
        integrity=_integrity(directory / "package-lock.json", name),
    )


def _manifest(file: Path) -> _Manifest:
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Manifest)
    except (OSError, msgspec.DecodeError, UnicodeError) as error:
        raise InstallError(f"cannot read {file.name} of an npm package: {error}", "") from error


def _integrity(lock: Path, name: str) -> str | None:
    try:
        packages: Any = msgspec.json.decode(lock.read_bytes())["packages"]
        return str(packages[f"node_modules/{name}"]["integrity"])
    except (OSError, msgspec.DecodeError, UnicodeError, KeyError, TypeError):
        return None


_AT: Final = re.compile(r"([A-Za-z0-9._-]+(?:\[[^\]]*\])?)@([0-9][^/]*)", re.ASCII)
"""uvx's syntax for a pinned version, as in `some-agent@1.2`."""


async def build_from_python(target: Package, directory: Path) -> Built:
    """Install into an empty directory.

    Raises:
        ToolError: uv or pip failed.
        InstallError: the package contains no program, or several.
    """
    found = _AT.fullmatch(target.package)
    wanted = f"{found[1]}=={found[2]}" if found else target.package
    place = directory / "venv"
    python = place / "bin" / "python"
    if (uv := _uv()) is not None:
        await run_tool([uv, "venv", "--quiet", "--relocatable", str(place)], cwd=directory)
        install = [uv, "pip", "install", "--quiet", "--python", str(python), "--", wanted]
    else:
        await run_tool([sys.executable, "-P", "-m", "venv", str(place)], cwd=directory)
        install = [str(python), "-m", "pip", "install", "--quiet", "--", wanted]
    before = set(_marks(place))  # pip itself
    await run_tool(install, cwd=directory)
    name, programs = _requested(set(_marks(place)) - before)
    program = one_program(programs, name, f"the Python package {name}")
    # With its interpreter: the script's first line has the path of the staging directory.
    argv = (path_in(directory, python), path_in(directory, place / "bin" / program), *target.args)
    return Built(argv, target.package)


def _uv() -> str | None:
    found = look_up("uv", usual_path(os.environ).split(os.pathsep))
    return None if found is None else str(found)


def _marks(place: Path) -> list[Path]:
    """Files that mark a distribution as requested by name."""
    return list(place.glob("lib/python*/site-packages/*.dist-info/REQUESTED"))


def _requested(marks: set[Path]) -> tuple[str, list[str]]:
    """Name of the requested distribution, and its programs."""
    if len(marks) != 1:
        raise InstallError("the installer did not report what it installed", "")
    (mark,) = marks
    name = mark.parent.name.partition("-")[0].replace("_", "-")
    return name, _console_scripts(mark.with_name("entry_points.txt"))


def _console_scripts(file: Path) -> list[str]:
    """Programs in a distribution's entry points."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeError) as error:
        raise InstallError(f"cannot read {file}: {error}", "") from error
    names: list[str] = []
    section = ""
    for line in map(str.strip, lines):
        if line.startswith("["):
            section = line
        elif section == "[console_scripts]" and "=" in line:
            names.append(line.partition("=")[0].strip())
    return names


KEPT_VERSIONS: Final = 2
"""Versions of an agent to keep: the newest, and the one before it."""

Installable = FromArchive | FromPackage | FromCrate

_STAGING: Final = ".staging-"
_POLL_INTERVAL: Final = 0.1


async def install(entry: RegistryEntry, way: Installable, bin_directory: Path) -> InstallReceipt:
    """Install this version unless it is installed; wait for a concurrent installation.

    Raises:
        ExplainedError: the installation failed; existing versions are unchanged.
    """
    home = bin_directory / entry.id
    place = home / entry.version
    async with _locked(home):
        if (receipt := read_receipt(place)) is not None:
            return receipt
        _sweep(home)
        staging = home / f"{_STAGING}{secrets.token_hex(4)}"
        staging.mkdir()
        try:
            built = await _build(entry, way, staging)
            receipt = _receipt(entry, way, built)
            write_receipt(receipt, staging)
            if place.exists():  # without a receipt: incomplete
                shutil.rmtree(place)
            staging.rename(place)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        _prune(home)
    return receipt


async def uninstall(agent_id: str, bin_directory: Path) -> bool:
    """Remove every version; False if none was installed."""
    home = bin_directory / agent_id
    if not home.is_dir():
        return False
    async with _locked(home):
        found = bool(installed_versions(home))
        for each in home.iterdir():
            if each.is_dir():
                shutil.rmtree(each)
    return found


async def _build(entry: RegistryEntry, way: Installable, directory: Path) -> Built:
    match way:
        case FromArchive(target):
            return await build_from_archive(target, directory)
        case FromPackage("npx", target):
            return await build_from_npm(target, directory)
        case FromPackage(_, target):
            return await build_from_python(target, directory)
        case FromCrate(target):
            return await build_from_cargo(target, entry.version, directory)


def _receipt(entry: RegistryEntry, way: Installable, built: Built) -> InstallReceipt:
    match way:
        case FromArchive(target):
            source, env = "binary", target.env
        case FromPackage(tool, target):
            source, env = tool, target.env
        case FromCrate():
            source, env = "cargo", {}
    return InstallReceipt(
        id=entry.id,
        name=entry.name,
        version=entry.version,
        source=source,
        origin=built.origin,
        argv=built.argv,
        env=dict(env),
        when=time.time(),
        sha256=built.sha256,
        is_verified=built.is_verified,
        integrity=built.integrity,
    )


@asynccontextmanager
async def _locked(home: Path) -> AsyncGenerator[None]:
    """Hold the agent's installation lock; the system releases it if this process is killed."""
    with _lock_file(home) as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                # A thread that waits for a lock cannot be canceled; polling can.
                await asyncio.sleep(_POLL_INTERVAL)
            else:
                break
        yield


def _lock_file(home: Path) -> IO[bytes]:
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    return (home / ".lock").open("wb")


def _sweep(home: Path) -> None:
    """Remove the leftovers of killed installations. Requires the lock."""
    for left in home.glob(f"{_STAGING}*"):
        shutil.rmtree(left, ignore_errors=True)


def _prune(home: Path) -> None:
    for old in installed_versions(home)[:-KEPT_VERSIONS]:
        shutil.rmtree(home / old.version, ignore_errors=True)

"""Installs a crate's program: fetched by cargo-binstall if it is there, else built by cargo."""

import os
import tempfile
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote

import msgspec

from localio.http import INDEX_TIME, fetch
from localio.http_values import Wish
from localio.processes import ToolError, look_up, run_tool, usual_path
from symposium.registry.building import Built, InstallError, one_program
from symposium.registry.entries import Crate

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
    """The programs of a crate's version, as crates.io lists them.

    Raises:
        FetchError: it did not answer.
        InstallError: its answer is none.
    """
    answer = await _ask(f"{address}/{quote(crate, safe='')}/{quote(version, safe='')}", _Answer)
    return [name for name in answer.version.bin_names if name]


async def newest_version(crate: str, *, address: str = CRATES) -> str:
    """The newest version of a crate, a stable one if there is any.

    Raises:
        FetchError: crates.io did not answer.
        InstallError: its answer is none.
    """
    found = (await _ask(f"{address}/{quote(crate, safe='')}", _Newest)).crate
    return found.max_stable_version or found.max_version


async def _ask(url: str, kind: type[_Kind]) -> _Kind:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "answer"
        await fetch(Wish(url, INDEX_TIME, _MAX_ANSWER), file)
        try:
            return msgspec.json.decode(file.read_bytes(), type=kind)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise InstallError(f"{url} gave no answer that we know: {error}", "") from error


async def build_from_cargo(
    target: Crate, version: str, directory: Path, *, address: str = CRATES
) -> Built:
    """Install into an empty directory.

    Raises:
        ToolError: cargo failed.
        InstallError: the crate holds no program, or several.
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
    """Whether cargo-binstall is here and had a program ready to be fetched."""
    if look_up("cargo-binstall", usual_path(os.environ).split(os.pathsep)) is None:
        return False
    argv = ["cargo", "binstall", "--no-confirm", "--root", str(directory), "--", origin]
    try:
        await run_tool(argv, cwd=directory)
    except ToolError:
        return False
    return True

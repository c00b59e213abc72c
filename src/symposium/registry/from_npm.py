"""Installs an npm package into a prefix of its own, so that its program starts without npx."""

from pathlib import Path
from typing import Any

import msgspec

from localio.processes import run_tool
from symposium.registry.building import Built, InstallError, one_program, path_in
from symposium.registry.entries import Package


class _Manifest(msgspec.Struct, frozen=True):
    name: str = ""
    dependencies: dict[str, str] = {}
    bin: str | dict[str, str] = {}


async def build_from_npm(target: Package, directory: Path) -> Built:
    """Install into an empty directory; scripts of the packages run, as npx would run them.

    Raises:
        ToolError: npm failed.
        InstallError: the package holds no program, or several.
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
        raise InstallError(f"npm did not say what it installed for {target.package}", "")
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
        raise InstallError(f"{file.name} of an npm package cannot be read: {error}", "") from error


def _integrity(lock: Path, name: str) -> str | None:
    try:
        packages: Any = msgspec.json.decode(lock.read_bytes())["packages"]
        return str(packages[f"node_modules/{name}"]["integrity"])
    except (OSError, msgspec.DecodeError, UnicodeError, KeyError, TypeError):
        return None

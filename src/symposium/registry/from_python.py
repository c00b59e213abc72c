"""Installs a Python package into an environment of its own, by uv or else by venv and pip."""

import os
import re
import sys
from pathlib import Path
from typing import Final

from localio.processes import look_up, run_tool, usual_path
from symposium.registry.building import Built, InstallError, one_program, path_in
from symposium.registry.entries import Package

_AT: Final = re.compile(r"([A-Za-z0-9._-]+(?:\[[^\]]*\])?)@([0-9][^/]*)", re.ASCII)
"""uvx's own way to pin, as in `some-agent@1.2`."""


async def build_from_python(target: Package, directory: Path) -> Built:
    """Install into an empty directory.

    Raises:
        ToolError: uv or pip failed.
        InstallError: the package holds no program, or several.
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
    before = set(_marks(place))  # those of pip itself
    await run_tool(install, cwd=directory)
    name, programs = _requested(set(_marks(place)) - before)
    program = one_program(programs, name, f"the Python package {name}")
    # Through its interpreter: the script's own first line names the place it was built in.
    argv = (path_in(directory, python), path_in(directory, place / "bin" / program), *target.args)
    return Built(argv, target.package)


def _uv() -> str | None:
    found = look_up("uv", usual_path(os.environ).split(os.pathsep))
    return None if found is None else str(found)


def _marks(place: Path) -> list[Path]:
    """What installers put beside a distribution that was asked for by name."""
    return list(place.glob("lib/python*/site-packages/*.dist-info/REQUESTED"))


def _requested(marks: set[Path]) -> tuple[str, list[str]]:
    """The distribution that was asked for, and its programs."""
    if len(marks) != 1:
        raise InstallError("the installer did not say what it installed", "")
    (mark,) = marks
    name = mark.parent.name.partition("-")[0].replace("_", "-")
    return name, _console_scripts(mark.with_name("entry_points.txt"))


def _console_scripts(file: Path) -> list[str]:
    """The programs that a distribution's entry points name."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeError) as error:
        raise InstallError(f"{file} cannot be read: {error}", "") from error
    names: list[str] = []
    section = ""
    for line in map(str.strip, lines):
        if line.startswith("["):
            section = line
        elif section == "[console_scripts]" and "=" in line:
            names.append(line.partition("=")[0].strip())
    return names

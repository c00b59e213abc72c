"""What a Python language server is told, so that it starts nothing of the workspace.

Left to itself it runs the interpreter of the environment that is stored there (`.venv/bin/python`).
It is given another; what the environment holds is named to it, and read as data.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from localio.files import is_in, trusted_places

ENVIRONMENTS: Final = (".venv", "venv", "env")
"""Where environments are stored in a workspace, the likeliest first."""

_VERSION: Final = re.compile(r"python3\.[0-9]+")

MOST_LINKS: Final = 64 * 1024
"""Bytes of a `.pth` file that are read."""

MOST_FOLDERS: Final = 50
"""Folders that are named to the server."""


def python_settings(root: Path) -> Mapping[str, Any]:
    """The settings of basedpyright and pyright for a workspace, by section."""
    packages = next(filter(None, (_packages_of(root / name) for name in ENVIRONMENTS)), None)
    folders = [] if packages is None else [str(packages), *_linked(packages)][:MOST_FOLDERS]
    interpreter = _interpreter(root, "python3" if packages is None else packages.parent.name)
    paths = {"extraPaths": folders} if folders else {}
    return {
        "python": {"pythonPath": interpreter, "analysis": paths},
        "python.analysis": paths,
        "basedpyright": {"analysis": paths},
        "basedpyright.analysis": paths,
    }


def _interpreter(root: Path, name: str) -> str:
    """One outside the workspace, of the environment's version if there is one."""
    folders = trusted_places(os.environ.get("PATH", os.defpath), root)
    # A shim runs what a file of the workspace says.
    search_path = os.pathsep.join(each for each in folders if Path(each).name != "shims")
    # Our own one but as it was installed: what is installed with us is not the project's.
    bare = Path(sys.base_prefix) / "bin" / "python3"
    found = shutil.which(name, path=search_path)
    if found is None and not is_in(bare, root):
        found = str(bare)
    return found or shutil.which("python3", path=search_path) or sys.executable


def _packages_of(environment: Path) -> Path | None:
    if not (environment / "pyvenv.cfg").is_file():
        return None
    found = sorted((environment / "lib").glob("python3.*/site-packages"))
    return next((each for each in found if _VERSION.fullmatch(each.parent.name)), None)


def _linked(packages: Path) -> Iterator[str]:
    """What `.pth` files lead to, as for packages that are being edited; their code is not run."""
    for file in sorted(packages.glob("*.pth")):
        if not file.is_file() or file.stat().st_size > MOST_LINKS:
            continue
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            is_code = line.startswith(("import ", "import\t", "#"))
            if line.strip() and not is_code and _is_folder(packages / line.strip()):
                yield str(packages / line.strip())


def _is_folder(place: Path) -> bool:
    try:
        return place.is_dir()
    except OSError:
        return False

"""Known language servers, and their settings for Python.

By default, a Python server runs the interpreter in the workspace (`.venv/bin/python`). It gets
another one here; the packages of the environment are passed as paths and read as data.

No part of a server comes from the workspace: opening a workspace must not run its code.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from localio.files import is_in, trusted_places

ENVIRONMENTS: Final = (".venv", "venv", "env")
"""Directories of environments in a workspace, most likely first."""

_VERSION: Final = re.compile(r"python3\.[0-9]+")

MAX_LINKS: Final = 64 * 1024
"""Maximum size of a `.pth` file, in bytes."""

MAX_FOLDERS: Final = 50
"""Maximum number of directories passed to the server."""


def python_settings(root: Path) -> Mapping[str, Any]:
    """Settings of basedpyright and pyright for a workspace, by section."""
    packages = next(filter(None, (_packages_of(root / name) for name in ENVIRONMENTS)), None)
    folders = [] if packages is None else [str(packages), *_linked(packages)][:MAX_FOLDERS]
    interpreter = _interpreter(root, "python3" if packages is None else packages.parent.name)
    paths = {"extraPaths": folders} if folders else {}
    return {
        "python": {"pythonPath": interpreter, "analysis": paths},
        "python.analysis": paths,
        "basedpyright": {"analysis": paths},
        "basedpyright.analysis": paths,
    }


def _interpreter(root: Path, name: str) -> str:
    """Interpreter outside the workspace, with the environment's version if possible."""
    folders = trusted_places(os.environ.get("PATH", os.defpath), root)
    # A version manager's shim follows files in the workspace.
    search_path = os.pathsep.join(each for each in folders if Path(each).name != "shims")
    # The base interpreter: packages in Symposium's environment are not the project's.
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
    """Directories in `.pth` files, as for editable installs; their code is not run."""
    for file in sorted(packages.glob("*.pth")):
        if not file.is_file() or file.stat().st_size > MAX_LINKS:
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


def no_options(_: Path) -> Mapping[str, Any] | None:
    """No options, for servers that need none."""
    return {}


def no_settings(_: Path) -> Mapping[str, Any]:
    """No settings, for servers that need none."""
    return {}


def bundled_typescript(program: Path) -> Mapping[str, Any] | None:
    """Use the compiler installed with the server; otherwise the workspace's would run."""
    for folder in program.resolve().parents:
        for modules in (folder, folder / "node_modules"):
            compiler = modules / "typescript" / "lib" / "tsserver.js"
            if compiler.is_file():
                return {
                    "tsserver": {"path": str(compiler)},
                    "disableAutomaticTypingAcquisition": True,
                }
    return None


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """A language and its servers.

    Attributes:
        language: name of the language.
        ids: LSP language ids by file ending.
        commands: servers, best first.
        markers: files at the root of a workspace of this language.
        install: installation command of the first server.
        options: options by the program's path; returns None if it must not start.
        settings: settings of a workspace, by section.
    """

    language: str
    ids: Mapping[str, str]
    commands: Sequence[Sequence[str]]
    markers: Sequence[str]
    install: str
    options: Callable[[Path], Mapping[str, Any] | None] = field(default=no_options)
    settings: Callable[[Path], Mapping[str, Any]] = field(default=no_settings)


PYTHON: Final = ServerSpec(
    "python",
    {".py": "python", ".pyi": "python"},
    [["basedpyright-langserver", "--stdio"], ["pyright-langserver", "--stdio"]],
    ["pyproject.toml", "setup.py", "requirements.txt"],
    "pipx install basedpyright",
    settings=python_settings,
)
TYPESCRIPT: Final = ServerSpec(
    "typescript",
    {
        ".ts": "typescript",
        ".tsx": "typescriptreact",
        ".mts": "typescript",
        ".cts": "typescript",
        ".js": "javascript",
        ".jsx": "javascriptreact",
        ".mjs": "javascript",
        ".cjs": "javascript",
    },
    [["typescript-language-server", "--stdio"]],
    ["tsconfig.json", "jsconfig.json", "package.json"],
    "npm install -g typescript typescript-language-server",
    bundled_typescript,
)
SERVERS: Final = (PYTHON, TYPESCRIPT)


@dataclass(frozen=True, slots=True)
class ServerLaunch:
    """An installed server.

    Attributes:
        argv: command line.
        options: options for `initialize`.
    """

    argv: Sequence[str]
    options: Mapping[str, Any]


def launch_of(spec: ServerSpec, root: Path) -> ServerLaunch | None:
    """First installed server of a language outside the workspace; None if not installed."""
    trusted = trusted_places(os.environ.get("PATH", os.defpath), root)
    # The directory of this interpreter: tools installed with Symposium may not be on PATH.
    ours = Path(sys.executable).parent
    if not is_in(ours, root):
        trusted.append(str(ours))
    for name, *arguments in spec.commands:
        found = shutil.which(name, path=os.pathsep.join(trusted))
        if found is None:
            continue
        options = spec.options(Path(found))
        if options is not None:
            return ServerLaunch([found, *arguments], options)
    return None

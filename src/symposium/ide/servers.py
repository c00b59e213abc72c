"""The language servers that are known: what they are for, how they start, how one gets them.

No server is taken from the workspace, nor any part of one: opening a workspace runs nothing in it.
"""

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from localio.files import is_in, trusted_places
from symposium.ide.python_settings import python_settings


def no_options(_: Path) -> Mapping[str, Any] | None:
    """For a server that needs no options at its start."""
    return {}


def no_settings(_: Path) -> Mapping[str, Any]:
    """For a server that nothing need be told."""
    return {}


def bundled_typescript(program: Path) -> Mapping[str, Any] | None:
    """The compiler that is installed next to the server: without it the workspace's would run."""
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
    """One language and the servers for it.

    Attributes:
        language: how it is called here, and in errors.
        ids: LSP's language id, by the ending of a file's name.
        commands: the servers, the best first.
        markers: files that a workspace of this language has at its root.
        install: how one gets the first of them.
        options: made of the program's path; None where it must not be started so.
        settings: made of the workspace; what the server is told by the section that it asks for.
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
class Launch:
    """A server that is at hand.

    Attributes:
        argv: what to start.
        options: for its `initialize`.
    """

    argv: Sequence[str]
    options: Mapping[str, Any]


def launch_of(spec: ServerSpec, root: Path) -> Launch | None:
    """The first server for a language that is installed, outside the workspace; None for none."""
    trusted = trusted_places(os.environ.get("PATH", os.defpath), root)
    # The folder of our own interpreter: what was installed with us need not be on PATH.
    ours = Path(sys.executable).parent
    if not is_in(ours, root):
        trusted.append(str(ours))
    for name, *arguments in spec.commands:
        found = shutil.which(name, path=os.pathsep.join(trusted))
        if found is None:
            continue
        options = spec.options(Path(found))
        if options is not None:
            return Launch([found, *arguments], options)
    return None

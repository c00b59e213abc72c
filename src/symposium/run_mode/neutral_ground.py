"""Where programs start that look around themselves first: not in whatever workspace is open.

`npx` starts what `node_modules` of the current directory holds, and reads its `.npmrc`; `uvx` and
`pipx` read settings there; `python -m` imports from there. So opening a workspace would run what is
stored in it, by the user's own config. A session's directory is named in the protocol anyway.
"""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from peerwire.transports.command import Command
from symposium.config.paths import paths

_RUNNERS: Final = frozenset({"npx", "pnpx", "bunx", "uvx", "pipx"})
_SUBCOMMANDS: Final = {
    "npm": frozenset({"exec", "x"}),
    "pnpm": frozenset({"dlx", "exec"}),
    "yarn": frozenset({"dlx", "exec"}),
    "bun": frozenset({"x", "run"}),
    "uv": frozenset({"run", "tool", "x"}),
    "cargo": frozenset({"run"}),
    "deno": frozenset({"run"}),
}
_PYTHON: Final = re.compile(r"(?:python|pypy)[0-9.]*(?:\.exe)?")

STARTER: Final = Path(__file__).with_name("start_elsewhere.py")
"""A program of the standard library alone; ACP cannot say where an MCP server shall start."""


def looks_around(argv: Sequence[str]) -> bool:
    """Whether a program may start or import what lies in the directory that it is started in."""
    name = Path(argv[0]).name
    if name in _RUNNERS:
        return True
    if _PYTHON.fullmatch(name):
        return _runs_module(argv[1:])
    return any(word in _SUBCOMMANDS.get(name, ()) for word in argv[1:2])


def away(command: Command, *, is_recommended: bool) -> Command:
    """The command, started in our own directory if it looks around, or was recommended to us.

    The user may name another directory; a recommendation may not.
    """
    is_placed = command.cwd is not None or not looks_around(command.argv)
    if is_placed and not is_recommended:
        return command
    return replace(command, cwd=str(neutral_directory()))


def away_words(argv: Sequence[str], *, is_recommended: bool) -> Sequence[str]:
    """The same for words that somebody else starts."""
    if not (is_recommended or looks_around(argv)):
        return argv
    return [sys.executable, "-I", "-S", str(STARTER), str(neutral_directory()), *argv]


def neutral_directory(environment: Mapping[str, str] | None = None) -> Path:
    """Our own directory, which is there after this."""
    home = paths(os.environ if environment is None else environment).home
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return home


def _runs_module(words: Sequence[str]) -> bool:
    """Whether an interpreter is asked for a module, and not told to leave the directory alone."""
    for word in words:
        if not word.startswith("-") or word == "-":
            return False
        if word.startswith("--"):
            continue
        letters = word[1:]
        if "I" in letters or "P" in letters:
            return False
        if "m" in letters or "c" in letters:
            return True
    return False

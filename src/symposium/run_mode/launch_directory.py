"""Choose a working directory from which a program cannot load workspace code.

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

_RUNNERS: Final = frozenset({"npx", "pnpx", "bunx", "uvx", "pipx", "pip-run"})
_SUBCOMMANDS: Final = {
    "npm": frozenset({"exec", "x"}),
    "pnpm": frozenset({"dlx", "exec"}),
    "yarn": frozenset({"dlx", "exec"}),
    "bun": frozenset({"x", "run"}),
    "uv": frozenset({"run", "tool", "x"}),
    "cargo": frozenset({"run"}),
    "deno": frozenset({"run"}),
    "go": frozenset({"run"}),
    "nix": frozenset({"run", "develop", "shell"}),
    "mise": frozenset({"exec", "x", "run"}),
    **dict.fromkeys(("poetry", "pdm", "hatch", "rye", "pipenv", "pixi"), frozenset({"run"})),
}
_WRAPPERS: Final = frozenset(
    {
        *("env", "nice", "ionice", "nohup", "time", "timeout", "setsid", "stdbuf", "exec"),
        *("sudo", "doas", "volta", "conda", "mamba", "micromamba", "asdf", "pyenv", "direnv"),
    }
)
"""Programs that start the one that is named behind their own words."""

_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh"})
_BETWEEN_WORDS: Final = re.compile(r"[\s;&|(){}'\"`]+")
_PYTHON: Final = re.compile(r"(?:python|pypy)[0-9.]*(?:\.exe)?|py")

_WITH_VALUE: Final = frozenset({"--check-hash-based-pycs"})
_MAX_WORDS: Final = 100

STARTER: Final = Path(__file__).with_name("start_elsewhere.py")
"""A program of the standard library alone; ACP cannot say where an MCP server shall start."""


def reads_working_directory(argv: Sequence[str]) -> bool:
    """Whether a program may start or import what lies in the directory that it is started in."""
    name, words = Path(argv[0]).name, argv[1:]
    if name in _RUNNERS:
        return True
    if _PYTHON.fullmatch(name):
        return _runs_module(words)
    if name in _SHELLS:
        words = [each for word in words for each in _BETWEEN_WORDS.split(word) if each]
    if name in _SHELLS or name in _WRAPPERS:
        # Which of the words is the program, each wrapper says in its own way.
        return any(
            reads_working_directory(words[place:]) for place in range(min(len(words), _MAX_WORDS))
        )
    own = words[: words.index("--")] if "--" in words else words
    return not _SUBCOMMANDS.get(name, frozenset()).isdisjoint(own)


def launch_elsewhere(command: Command, *, is_recommended: bool) -> Command:
    """The command, started in our own directory if it looks around, or was recommended to us.

    The user may name another directory; a recommendation may not.
    """
    is_placed = command.cwd is not None or not reads_working_directory(command.argv)
    if is_placed and not is_recommended:
        return command
    return replace(command, cwd=str(neutral_directory()))


def away_words(argv: Sequence[str], *, is_recommended: bool) -> Sequence[str]:
    """Choose it for a command that another program starts."""
    if not (is_recommended or reads_working_directory(argv)):
        return argv
    return [sys.executable, "-I", "-S", str(STARTER), str(neutral_directory()), *argv]


def neutral_directory(environment: Mapping[str, str] | None = None) -> Path:
    """Our own directory, which is there after this."""
    home = paths(os.environ if environment is None else environment).home
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return home


def _runs_module(words: Sequence[str]) -> bool:
    """Whether an interpreter runs a module and would import from the directory."""
    left = iter(words)
    for word in left:
        if not word.startswith("-") or word == "-":
            return False
        if word.startswith("--"):
            if word in _WITH_VALUE:
                next(left, None)
            continue
        for place, letter in enumerate(word[1:], 2):
            if letter in "IP":
                return False
            if letter in "mc":
                return True
            if letter in "XW":
                # What follows is its value, in the same word or in the next.
                if not word[place:]:
                    next(left, None)
                break
    return False

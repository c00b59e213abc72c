"""Choose a working directory from which a program cannot load workspace code.

`npx` runs programs of `node_modules` in the current directory, and reads its `.npmrc`; `uvx` and
`pipx` read settings there; `python -m` imports from there. So opening a workspace would run code of
the workspace, with the user's config. The protocol names a session's directory anyway.
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
"""Programs that start another program, named after their own arguments."""

_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh"})
_BETWEEN_WORDS: Final = re.compile(r"[\s;&|(){}'\"`]+")
_PYTHON: Final = re.compile(r"(?:python|pypy)[0-9.]*(?:\.exe)?|py")

_WITH_VALUE: Final = frozenset({"--check-hash-based-pycs"})
_MAX_WORDS: Final = 100

STARTER: Final = Path(__file__).with_name("start_in_directory.py")
"""A program without dependencies; ACP cannot set the directory of an MCP server."""


def reads_working_directory(argv: Sequence[str]) -> bool:
    """Whether a program may run or import code from its working directory."""
    name, words = Path(argv[0]).name, argv[1:]
    if name in _RUNNERS:
        return True
    if _PYTHON.fullmatch(name):
        return _runs_module(words)
    if name in _SHELLS:
        words = [each for word in words for each in _BETWEEN_WORDS.split(word) if each]
    if name in _SHELLS or name in _WRAPPERS:
        # Each wrapper has its own position of the program.
        return any(
            reads_working_directory(words[place:]) for place in range(min(len(words), _MAX_WORDS))
        )
    own = words[: words.index("--")] if "--" in words else words
    return not _SUBCOMMANDS.get(name, frozenset()).isdisjoint(own)


def launch_elsewhere(command: Command, *, is_recommended: bool) -> Command:
    """Start a command in a neutral directory if it loads code from there or was recommended.

    The user may name another directory; a recommendation may not.
    """
    is_placed = command.cwd is not None or not reads_working_directory(command.argv)
    if is_placed and not is_recommended:
        return command
    return replace(command, cwd=str(neutral_directory()))


def away_words(argv: Sequence[str], *, is_recommended: bool) -> Sequence[str]:
    """Wrap a command that another program starts."""
    if not (is_recommended or reads_working_directory(argv)):
        return argv
    return [sys.executable, "-I", "-S", str(STARTER), str(neutral_directory()), *argv]


def neutral_directory(environment: Mapping[str, str] | None = None) -> Path:
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
                # Its value follows, in the same word or in the next.
                if not word[place:]:
                    next(left, None)
                break
    return False

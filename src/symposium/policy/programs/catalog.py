"""All programs that have a table, by the name that runs them."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

from symposium.policy.programs.archives import ARCHIVES
from symposium.policy.programs.building import BUILDING
from symposium.policy.programs.files import FILES
from symposium.policy.programs.git import GIT
from symposium.policy.programs.search import SEARCH
from symposium.policy.programs.text import TEXT
from symposium.policy.programs.vocabulary import Program

GROUPS: Final[Mapping[str, Mapping[str, Program]]] = MappingProxyType(
    {
        "Files": FILES,
        "Text": TEXT,
        "Search and machine": SEARCH,
        "Git": GIT,
        "Archives and transfer": ARCHIVES,
        "Build and test": BUILDING,
    }
)

PROGRAMS: Final[Mapping[str, Program]] = MappingProxyType(
    {name: program for group in GROUPS.values() for name, program in group.items()}
)

_ALIASES: Final = MappingProxyType(
    {"gawk": "awk", "mawk": "awk", "gsed": "sed", "nodejs": "node", "py.test": "pytest"}
)
_VERSIONED: Final = re.compile(r"(python|pip)\d+(?:\.\d+)?")
_SYSTEM: Final = frozenset({"", "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"})


def system_program(word: str) -> str | None:
    """The name of a program that a word finds in PATH or in a system directory, else None."""
    directory, slash, name = word.rpartition("/")
    if directory not in _SYSTEM or (slash and not directory):
        return None
    return name


def program_for(word: str) -> Program | None:
    """The table for the first word of a command; None for an unknown program.

    A program by another path can be anything: `./cp` is not `cp`.
    """
    name = system_program(word)
    if name is None:
        return None
    versioned = _VERSIONED.fullmatch(name)
    name = versioned[1] if versioned is not None else _ALIASES.get(name, name)
    return PROGRAMS.get(name)


def module_program(name: str) -> Program | None:
    """The table for a module that an interpreter runs, such as `pytest` in `python -m pytest`."""
    return PROGRAMS.get(PurePosixPath(name).name) if "/" not in name else None

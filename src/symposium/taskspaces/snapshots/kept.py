"""Which ignored files are kept: all but what a build makes again, and what is too large."""

import fnmatch
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

REBUILT: Final = (
    *("node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox", ".eggs", "*.egg-info"),
    *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".coverage", ".cache"),
    *(".next", ".nuxt", ".gradle", ".parcel-cache", ".turbo", "bower_components", ".DS_Store"),
    *("*.pyc", "*.o", "*.so", "*.class"),
)
"""Ignored names that a build makes again; all other ignored files may be somebody's work."""

BUILT: Final = ("target", "build", "dist", "out", "coverage")
"""Folders that a build makes, where something says how it is built."""

BUILDS: Final = (
    *("package.json", "pyproject.toml", "setup.py", "Cargo.toml", "CMakeLists.txt", "Makefile"),
    *("pom.xml", "build.gradle", "build.gradle.kts", "meson.build", "build.zig", "go.mod"),
    *("mix.exs", "composer.json", "Gemfile", "Package.swift", "dune-project", "build.sbt"),
)

_PATTERNS: Final = tuple(each for each in REBUILT if "*" in each)
_NAMES: Final = frozenset(REBUILT) - set(_PATTERNS)
_FOLDERS: Final = frozenset(BUILT)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of ignored work; what git does not ignore has none.

    Attributes:
        file: bytes of one ignored file.
        files: files of one ignored folder and the folders in it.
        folder: bytes of these files together.
    """

    file: int = 8 << 20
    files: int = 2000
    folder: int = 64 << 20


def may_be_rebuilt(name: str) -> bool:
    """Whether a name is one of those that a build makes again, if git ignores it."""
    return (
        name in _NAMES
        or name in _FOLDERS
        or ("." in name and any(fnmatch.fnmatchcase(name, each) for each in _PATTERNS))
    )


def is_rebuilt(folder: Path, name: str) -> bool:
    """Whether a build makes an ignored name in this folder again."""
    if name in _FOLDERS and name not in _NAMES:
        return any(os.path.isfile(folder / each) for each in BUILDS)  # noqa: PTH113 - short
    return may_be_rebuilt(name)

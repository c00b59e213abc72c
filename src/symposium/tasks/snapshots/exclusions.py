"""Rules for files that a snapshot leaves out: what a build recreates, and large ignored files.

A snapshot leaves out only files that git ignores.
"""

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
"""Ignored names that a build recreates; any other ignored file may be work."""

BUILT: Final = ("target", "build", "dist", "out", "coverage")
"""Build folders, if a file next to them defines the build."""

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
    """Size limits of ignored files; other files have no limit.

    Attributes:
        file: bytes of one ignored file.
        files: number of files below one ignored folder.
        folder: total bytes of these files.
    """

    file: int = 8 << 20
    files: int = 2000
    folder: int = 64 << 20

    def exclusion_of_folder(self, files: int, size: int) -> str:
        """Reason to leave out an ignored folder of this size; empty to keep it."""
        if files <= self.files and size <= self.folder:
            return ""
        return f"git ignores it, and it has {files} files, {size} bytes"


def may_be_rebuilt(name: str) -> bool:
    """Whether a build may recreate this name, if git ignores it."""
    return (
        name in _NAMES
        or name in _FOLDERS
        or ("." in name and any(fnmatch.fnmatchcase(name, each) for each in _PATTERNS))
    )


def is_rebuilt(folder: Path, name: str) -> bool:
    """Whether a build recreates this ignored name in a folder."""
    if name in _FOLDERS and name not in _NAMES:
        return any(os.path.isfile(folder / each) for each in BUILDS)  # noqa: PTH113 - called for each folder
    return may_be_rebuilt(name)


def exclusion_of(
    folder: Path, name: str, size: int, bounds: Bounds, precious: tuple[str, ...]
) -> str | None:
    """Reason to leave out an ignored file; empty if a build recreates it, None to keep it.

    Args:
        folder: the folder of the file.
        name: the name of the file.
        size: its size in bytes.
        bounds: the size limits.
        precious: patterns of ignored files that are saved at any size.
    """
    is_precious = any(fnmatch.fnmatchcase(name, each) for each in precious)
    if size > bounds.file and not is_precious:
        return f"git ignores it, and it has {size} bytes"
    return "" if is_rebuilt(folder, name) else None

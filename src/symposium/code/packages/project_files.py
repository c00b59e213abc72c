"""Files of a project and of a user's settings, read within bounds; nothing of them is run."""

import os
import stat
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import msgspec

MAX_TEXT: Final = 64 * 1024 * 1024
"""Bytes of a lock file; larger ones are taken for none."""

_LEVELS: Final = 16


def upward(project: Path) -> Iterator[Path]:
    """A directory and those above it, up to the one that is a repository's."""
    home = Path.home()
    for folder in (project, *project.parents[:_LEVELS]):
        yield folder
        if (folder / ".git").exists() or folder == home:
            return


def text_of(file: Path) -> str | None:
    """A regular file's text; None if it is missing or too large."""
    try:
        with open(file, "rb", opener=_without_waiting) as opened:
            seen = os.fstat(opened.fileno())
            if not stat.S_ISREG(seen.st_mode) or seen.st_size > MAX_TEXT:
                return None
            return opened.read(MAX_TEXT).decode(errors="replace")
    except OSError:
        return None


def _without_waiting(name: str, flags: int) -> int:
    # A name in a workspace may be a pipe without a writer.
    return os.open(name, flags | os.O_NONBLOCK)


def toml_of(file: Path) -> Mapping[str, Any]:
    """A TOML file's members; empty if it is missing or malformed."""
    text = text_of(file)
    try:
        return {} if text is None else tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def json_of(file: Path) -> Mapping[str, Any]:
    """A JSON file's members; empty if it is missing, malformed, or no object."""
    text = text_of(file)
    try:
        return members(None if text is None else msgspec.json.decode(text))
    except (msgspec.DecodeError, RecursionError):
        return {}


def members(value: object) -> Mapping[str, Any]:
    """An object's members; empty for anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def elements(value: object) -> list[Any]:
    """A list's elements; empty for anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []

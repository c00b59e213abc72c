"""Read files of a project and of the user's settings, with limits; nothing in them is run."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from localio.toml import parse_toml
from peerwire.jsonrpc.values import as_object

MAX_TEXT: Final = 64 * 1024 * 1024
"""Maximum size of a lock file, in bytes; larger ones are ignored."""

_LEVELS: Final = 16


def upward(project: Path) -> Iterator[Path]:
    """A directory and its parents, up to the root of the repository."""
    home = Path.home()
    for folder in (project, *project.parents[:_LEVELS]):
        yield folder
        if (folder / ".git").exists() or folder == home:
            return


def text_of(file: Path) -> str | None:
    """Text of a regular file; None if missing or too large."""
    try:
        with open(file, "rb", opener=_without_waiting) as opened:
            seen = os.fstat(opened.fileno())
            if not stat.S_ISREG(seen.st_mode) or seen.st_size > MAX_TEXT:
                return None
            return opened.read(MAX_TEXT).decode(errors="replace")
    except OSError:
        return None


def _without_waiting(name: str, flags: int) -> int:
    # Non-blocking: the name may be a pipe without a writer.
    return os.open(name, flags | os.O_NONBLOCK)


def toml_of(file: Path) -> Mapping[str, Any]:
    """Members of a TOML file; empty if missing or malformed."""
    text = text_of(file)
    try:
        return {} if text is None else parse_toml(text)
    except ValueError:
        return {}


def json_of(file: Path) -> Mapping[str, Any]:
    """Members of a JSON file; empty if missing, malformed, or not an object."""
    text = text_of(file)
    try:
        return as_object(None if text is None else msgspec.json.decode(text))
    except (msgspec.DecodeError, RecursionError):
        return {}

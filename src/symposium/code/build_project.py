"""Detect projects and check tool arguments; imports little, since every session uses it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from symposium.errors import SymposiumError

BUILD_TIMEOUT: Final = 600
MAX_TIMEOUT: Final = 3600
"""Default and maximum seconds for a run."""

MAX_MANIFEST: Final = 4 * 1024 * 1024
"""Maximum size of a manifest, in bytes."""


class BuildError(SymposiumError):
    """A tool cannot be run with the given arguments."""


def argument(value: str, what: str) -> str:
    """Check a value from an agent; reject one that looks like an option.

    Raises:
        BuildError: it looks like an option.
    """
    if not value or value.startswith("-") or "\0" in value:
        raise BuildError(f"{value[:80]!r} is not a {what}", "options of the tool are not allowed")
    return value


def nearest(folder: Path, names: Sequence[str]) -> Path | None:
    """Nearest directory, from this one up to the repository's root, with one of these files."""
    from_here = (folder, *folder.parents)
    for each in from_here:
        if any((each / name).is_file() for name in names):
            return each
        if (each / ".git").exists():
            return None
    return None

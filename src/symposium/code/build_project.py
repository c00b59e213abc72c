"""Whether a project is there, and what may be asked of its tools; light, as all sessions ask."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from symposium.errors import SymposiumError

BUILD_TIMEOUT: Final = 600
MAX_TIMEOUT: Final = 3600
"""Seconds that a run gets by default, and at most."""

MAX_MANIFEST: Final = 4 * 1024 * 1024
"""Bytes of a manifest that is read."""


class BuildError(SymposiumError):
    """A tool cannot be run with the given arguments."""


def argument(value: str, what: str) -> str:
    """Check a value from an agent; refuse one that would be read as an option.

    Raises:
        BuildError: it would.
    """
    if not value or value.startswith("-") or "\0" in value:
        raise BuildError(f"{value[:80]!r} is no {what}", "options of the tool cannot be given")
    return value


def nearest(folder: Path, names: Sequence[str]) -> Path | None:
    """The directory above, or this one, that has one of these files; up to the repository's."""
    from_here = (folder, *folder.parents)
    for each in from_here:
        if any((each / name).is_file() for name in names):
            return each
        if (each / ".git").exists():
            return None
    return None

"""Directories that only their user can look into, made with all that is missing above them."""

from pathlib import Path
from typing import Final

PRIVATE_DIRECTORY_MODE: Final = 0o700


def make_private_directory(directory: Path) -> None:
    """Make a directory, and each missing one above it, for this user alone; those there stay.

    `Path.mkdir` gives its mode to the last one only: what else it makes, everybody can read, and
    the directory of the sockets would then be refused by whoever comes next (users §7.4).

    Raises:
        OSError: it cannot be made, or something else has its name.
    """
    if not directory.parent.is_dir():
        make_private_directory(directory.parent)
    directory.mkdir(mode=PRIVATE_DIRECTORY_MODE, exist_ok=True)

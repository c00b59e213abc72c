"""Folder in memory for test files: tests create and remove a hundred thousand files."""

import os
from pathlib import Path
from typing import Final

ROOM: Final = 4 * 1024**3
"""Required free bytes."""

SHARED_MEMORY: Final = Path("/dev/shm")


def in_memory(place: Path = SHARED_MEMORY, room: int = ROOM) -> Path | None:
    """Return the folder if files can be written and programs started there, or None."""
    try:
        found = os.statvfs(place)
    except OSError:
        return None
    is_usable = os.access(place, os.W_OK) and not found.f_flag & (os.ST_NOEXEC | os.ST_RDONLY)
    return place if is_usable and found.f_bavail * found.f_frsize >= room else None

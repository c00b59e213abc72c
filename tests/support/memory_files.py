"""A place in memory for the files of tests: they make and remove a hundred thousand."""

import os
from pathlib import Path
from typing import Final

ROOM: Final = 4 * 1024**3
"""Bytes that must be free."""

SHARED_MEMORY: Final = Path("/dev/shm")


def in_memory(place: Path = SHARED_MEMORY, room: int = ROOM) -> Path | None:
    """The place, if files can be written and programs started there; None elsewhere."""
    try:
        found = os.statvfs(place)
    except OSError:
        return None
    is_usable = os.access(place, os.W_OK) and not found.f_flag & (os.ST_NOEXEC | os.ST_RDONLY)
    return place if is_usable and found.f_bavail * found.f_frsize >= room else None

"""Reads files that others have put there: what waits for ever or never ends is no file."""

import os
import stat
from pathlib import Path


def regular_content(path: Path, most: int) -> bytes:
    """What a file holds.

    Args:
        path: links are followed.
        most: bytes that it may have.

    Raises:
        OSError: it cannot be read.
        ValueError: it is a pipe, a device or a directory, or larger.
    """
    # A pipe that nobody writes to would be waited for.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is no file")
        with open(handle, "rb", closefd=False) as file:
            content = file.read(most + 1)
    finally:
        os.close(handle)
    if len(content) > most:
        raise ValueError(f"it is larger than {most} bytes")
    return content

"""Puts a new config in the place of one that cannot be read, and keeps that one beside it."""

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from localio.files import PRIVATE_FILE_MODE, check_writable, write_whole
from symposium.config.user_config import (
    Config,
    ConfigChangedError,
    ConfigError,
    first_text,
    io_reason,
)


def content_of(path: Path) -> bytes | None:
    """What a file holds, whatever it means; None if there is none, or it may not be read."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def save_anew(path: Path, config: Config, seen: bytes | None) -> Path:
    """Write the config over a broken one; where what was there is kept.

    Args:
        path: the file.
        config: what it shall say.
        seen: what it held when the user chose to begin anew.

    Raises:
        ConfigChangedError: it holds something else by now.
        ConfigError: it cannot be read, kept or written; it is as it was.
    """
    try:
        current = path.read_bytes()
        if current != seen:
            raise ConfigChangedError(
                f"{path} has been changed since it was read", "read it again, then change it"
            )
        check_writable(path)
        kept = _keep(path, current)
        write_whole(path, first_text(config))
    except (OSError, UnicodeError) as error:
        raise ConfigError(
            f"{path}: it cannot be replaced: {io_reason(error)}",
            "nothing has been changed; mend its permissions, or those of its directory",
        ) from error
    return kept


def _keep(path: Path, content: bytes) -> Path:
    for place in _places(path):
        try:
            handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE_MODE)
        except FileExistsError:
            if content_of(place) == content:
                return place
            continue
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return place
    raise AssertionError("unreachable: there is always another name")


def _places(path: Path) -> Iterator[Path]:
    yield path.with_name(f"{path.name}.broken")
    for number in count(2):
        yield path.with_name(f"{path.name}.broken-{number}")

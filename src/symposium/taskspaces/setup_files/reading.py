"""Reads the set-up files of a clone; runs nothing."""

import os
import stat
from pathlib import Path

from symposium.taskspaces.setup_files.formats import (
    FORMATS,
    INSTEAD,
    MOST_BYTES,
    UnreadableError,
    guesses,
)
from symposium.taskspaces.setup_files.recipe import Recipe, SetUp


def read_set_up(worktree: Path, clone: Path) -> SetUp:
    """What the files of a worktree ask for, and those that are only in the clone's checkout.

    A link is not followed: what it leads to was not written for this.
    """
    recipes: list[Recipe] = []
    broken: list[str] = []
    found: dict[str, str] = {}
    for source in FORMATS:
        try:
            text = _read(worktree, source)
            text = _read(clone, source) if text is None else text
        except UnreadableError as error:
            broken.append(f"{source}: {error}")
            continue
        if text is not None:
            found[source] = text
    for source, text in found.items():
        if INSTEAD.get(source) in found:
            continue
        try:
            recipes.append(FORMATS[source](source, text))
        except UnreadableError as error:
            broken.append(f"{source}: {error}")
    return SetUp(tuple(recipes), guesses(_names(worktree)), tuple(broken))


def _read(directory: Path, source: str) -> str | None:
    path = directory
    for part in Path(source).parts:
        path = path / part
        if path.is_symlink():
            raise UnreadableError("it is, or lies behind, a link; links are not followed")
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise UnreadableError(f"it is larger than {MOST_BYTES} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UnreadableError("it is not UTF-8") from error


def _names(directory: Path) -> set[str]:
    try:
        return {entry.name for entry in directory.iterdir()}
    except OSError:
        return set()

"""Reads stored content once, names each symbolic link on the way, and fails where it is moved."""

import os
import stat
from pathlib import Path
from typing import Final

from symposium.trust.item import MOST_BYTES, Item, Link, TrustError, readable

_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""The resolved path holds no link any more, and a pipe shall not hold us up."""


def read_item(workspace: Path, kind: str, name: str, *, most: int = MOST_BYTES) -> Item | None:
    """What a workspace stores under a relative path; None if there is nothing.

    Args:
        workspace: the directory; made canonical here.
        kind: what the content is for.
        name: the path, relative to the workspace.
        most: bytes that are read.

    Raises:
        TrustError: its name leaves the workspace; it is no file, is too large, cannot be read, or
            was changed meanwhile.
    """
    root = canonical(workspace)
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise _error(root, name, "its name leaves the workspace")
    links: tuple[Link, ...] = ()
    try:
        links = _links(root, name)
        content, seen = _content(os.path.realpath(root / name), most)
    except (FileNotFoundError, NotADirectoryError) as error:
        if links:
            raise _error(root, name, "its link leads nowhere") from error
        return None
    except (OSError, ValueError) as error:
        raise _error(root, name, str(error)) from error
    if links != _links(root, name) or not _is_still(root / name, seen):
        raise _error(root, name, "it was changed while it was read")
    return Item(root, kind, name, content, links)


def canonical(workspace: Path) -> Path:
    """The one path that stands for a workspace."""
    return Path(os.path.realpath(workspace))


def _content(target: str, most: int) -> tuple[bytes, os.stat_result]:
    handle = os.open(target, _FLAGS)
    with os.fdopen(handle, "rb") as file:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode):
            raise ValueError("it is no file")
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it is larger than {most} bytes, which nobody would read")
    return content, seen


def _links(root: Path, name: str) -> tuple[Link, ...]:
    """The links among the parts of a relative path, with what each leads to."""
    found: list[Link] = []
    here = root
    for part in Path(name).parts:
        here = here / part
        if here.is_symlink():
            path, target = str(here.relative_to(root)), os.path.realpath(here)
            found.append(Link(readable(path), readable(target)))
    return tuple(found)


def _is_still(path: Path, seen: os.stat_result) -> bool:
    try:
        now = path.stat()
    except OSError:
        return False
    return (now.st_dev, now.st_ino) == (seen.st_dev, seen.st_ino)


def _error(root: Path, name: str, reason: str) -> TrustError:
    return TrustError(f"{root / name}: {reason}", "it is not used; mend it, or take it away")

"""Reads lines of a file of a package: never more than can be read, never anything beside it."""

from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from symposium.errors import NotFoundError
from symposium.package_sources.model import PackageError, Source
from symposium.package_sources.places import text_of

MOST_LINES: Final = 1000
MOST_SHOWN: Final = 64 * 1024
"""Characters."""

_LISTED: Final = 100


class Excerpt(msgspec.Struct, frozen=True):
    """Lines of a file, which count from 1; `total_lines` are in all of it."""

    file_path: str
    start_line: int
    end_line: int
    total_lines: int
    text: str
    is_cut: bool = False


class Listing(msgspec.Struct, frozen=True):
    """What is in a directory; the names of directories end in `/`."""

    file_path: str
    entries: list[str]
    is_cut: bool = False


def read_source(
    source: Source, path: str, first: int = 1, last: int | None = None
) -> Excerpt | Listing:
    """Lines of a file; of a directory, what is in it.

    Args:
        source: whose file it is.
        path: relative to the package's root.
        first: the first line.
        last: the last one; by default as many as are read at once.

    Raises:
        PackageError: it lies outside of the package.
        NotFoundError: it is not there, or no text.
    """
    file = _inside(source, path)
    if file.is_dir():
        return _listing(source, file)
    text = text_of(file)
    if text is None or "\0" in text[:4096]:
        raise NotFoundError(
            f"{path[:200]} is no file of text in {source.name} {source.version}", ""
        )
    lines = text.splitlines()
    start = max(1, first)
    end = min(len(lines), start + MOST_LINES - 1, len(lines) if last is None else last)
    shown = "\n".join(lines[start - 1 : end])
    is_cut = len(shown) > MOST_SHOWN or end < min(len(lines), last or len(lines))
    name = file.relative_to(source.place.root).as_posix()
    return Excerpt(name, start, end, len(lines), shown[:MOST_SHOWN], is_cut)


def _inside(source: Source, path: str) -> Path:
    """Where a path leads once every link on it is followed."""
    root = source.place.root
    absent = NotFoundError(
        f"{source.name} {source.version} has no file {path[:200]!r}",
        "read `.` to see what there is",
    )
    try:
        file = (root / PurePosixPath(path or ".")).resolve()
        exists = file.exists()
    except (OSError, ValueError, RuntimeError) as error:
        raise absent from error
    if not file.is_relative_to(root):
        raise PackageError(f"{path[:200]!r} lies outside of {source.name} {source.version}", "")
    parts = [root / each for each in source.place.parts]
    is_own = not parts or any(file.is_relative_to(each) for each in parts)
    leads_to_own = any(each.is_relative_to(file) for each in parts)
    if not exists or not (is_own or leads_to_own):
        raise absent
    return file


def _listing(source: Source, folder: Path) -> Listing:
    root = source.place.root
    parts = [root / each for each in source.place.parts]
    names = [
        f"{each.name}/" if each.is_dir() else each.name
        for each in sorted(folder.iterdir())
        if not parts
        or any(each.is_relative_to(part) or part.is_relative_to(each) for part in parts)
    ]
    name = folder.relative_to(root).as_posix()
    return Listing(name, names[:_LISTED], len(names) > _LISTED)

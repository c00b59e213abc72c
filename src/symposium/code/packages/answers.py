"""Results of the package tools: locate, search, and read sources."""

import asyncio
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeAlias

import msgspec

from localio.processes import ProcessSpec, run_with_input
from symposium.code.packages.model import Ecosystem, PackageError, PatternError, Source
from symposium.code.packages.project_files import text_of
from symposium.code.packages.sources import describe, source_finder
from symposium.errors import NotFoundError

MAX_LINES: Final = 1000
MAX_SHOWN: Final = 64 * 1024
"""Characters."""

_LISTED: Final = 100


class SourceExcerpt(msgspec.Struct, frozen=True):
    """Lines of a file, counted from 1, and the number of all lines."""

    file_path: str
    start_line: int
    end_line: int
    total_lines: int
    text: str
    is_cut: bool = False


class SourceListing(msgspec.Struct, frozen=True):
    """Content of a directory; names of directories end in `/`."""

    file_path: str
    entries: list[str]
    is_cut: bool = False


def read_source(
    source: Source, path: str, first: int = 1, last: int | None = None
) -> SourceExcerpt | SourceListing:
    """Lines of a file, or the content of a directory.

    Args:
        source: source of the package.
        path: path relative to the package's root.
        first: first line.
        last: last line; default: as many as one result may contain.

    Raises:
        PackageError: the path is outside the package.
        NotFoundError: the file does not exist or is not text.
    """
    file = _inside(source, path)
    if file.is_dir():
        return _listing(source, file)
    text = text_of(file)
    if text is None or "\0" in text[:4096]:
        raise NotFoundError(
            f"{path[:200]} is not a text file in {source.name} {source.version}", ""
        )
    lines = text.splitlines()
    start = max(1, first)
    end = min(len(lines), start + MAX_LINES - 1, len(lines) if last is None else last)
    shown = "\n".join(lines[start - 1 : end])
    is_cut = len(shown) > MAX_SHOWN or end < min(len(lines), last or len(lines))
    name = file.relative_to(source.place.root).as_posix()
    return SourceExcerpt(name, start, end, len(lines), shown[:MAX_SHOWN], is_cut)


def _inside(source: Source, path: str) -> Path:
    """Resolve a path with all its links."""
    root = source.place.root
    absent = NotFoundError(
        f"{source.name} {source.version} has no file {path[:200]!r}",
        "read `.` to list the files",
    )
    try:
        file = (root / PurePosixPath(path or ".")).resolve()
        exists = file.exists()
    except (OSError, ValueError, RuntimeError) as error:
        raise absent from error
    if not file.is_relative_to(root):
        raise PackageError(f"{path[:200]!r} is outside {source.name} {source.version}", "")
    parts = [root / each for each in source.place.parts]
    is_own = not parts or any(file.is_relative_to(each) for each in parts)
    leads_to_own = any(each.is_relative_to(file) for each in parts)
    if not exists or not (is_own or leads_to_own):
        raise absent
    return file


def _listing(source: Source, folder: Path) -> SourceListing:
    root = source.place.root
    parts = [root / each for each in source.place.parts]
    names = [
        f"{each.name}/" if each.is_dir() else each.name
        for each in sorted(folder.iterdir())
        if not parts
        or any(each.is_relative_to(part) or part.is_relative_to(each) for part in parts)
    ]
    name = folder.relative_to(root).as_posix()
    return SourceListing(name, names[:_LISTED], len(names) > _LISTED)


SEARCH_TIME: Final = 10.0
MAX_MATCHES: Final = 50
"""Maximum number of matches in examples, and in other files."""

MAX_PATTERN: Final = 2000

_PROGRAM: Final = Path(__file__).with_name("search_run.py")


class Match(msgspec.Struct, frozen=True):
    """A matching line with two lines before and after it; lines start at 1."""

    file_path: str
    line_number: int
    context_start_line: int
    context_end_line: int
    context: str


class Matches(msgspec.Struct, frozen=True):
    """Matches in examples and in other files, and whether more were omitted."""

    example_matches: list[Match] = []
    other_matches: list[Match] = []
    is_cut: bool = False


def check_pattern(pattern: str) -> None:
    """Check a regular expression.

    Raises:
        PatternError: it is malformed.
    """
    if len(pattern) > MAX_PATTERN:
        raise PatternError(f"Invalid regex pattern: longer than {MAX_PATTERN} characters", "")
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise PatternError(
            f"Invalid regex pattern: {error}", "use the syntax of Python's `re`"
        ) from error


async def search_source(
    source: Source, pattern: str, endings: Sequence[str] = ("",), *, seconds: float = SEARCH_TIME
) -> Matches:
    """Matching lines, without hidden files, `target`, and `node_modules`.

    Args:
        source: source to search.
        pattern: Python regular expression.
        endings: endings of file names; default: all files.
        seconds: time limit.

    Raises:
        PatternError: the pattern is malformed or took too long.
    """
    check_pattern(pattern)
    asked = {
        "root": str(source.place.root),
        "parts": source.place.parts,
        "endings": list(endings),
        "pattern": pattern,
        "most": MAX_MATCHES,
    }
    # Isolated, so that neither environment variables nor the directory affect its imports.
    argv = (sys.executable, "-I", "-S", str(_PROGRAM))
    spec = ProcessSpec(argv, os.environ, source.place.root)
    try:
        async with asyncio.timeout(seconds):
            done = await run_with_input(spec, msgspec.json.encode(asked))
    except TimeoutError as error:
        raise PatternError(
            f"the search for {pattern[:80]!r} took longer than {seconds:g} s and was stopped",
            "use a pattern that can match in one way only",
        ) from error
    return msgspec.json.decode(done.said, type=Matches)


Named: TypeAlias = tuple[str, str, str | None]
"""Ecosystem, package name, and optional version range."""


async def crate_answer(
    project: Path, name: str, wanted: str | None, pattern: str | None
) -> dict[str, Any]:
    """Source of a crate, in the form of `get_rust_crate_source` (bus-mcp §2.3).

    Raises:
        PackageError: it is unavailable, or the pattern is malformed.
    """
    if pattern is not None:
        check_pattern(pattern)
    source = await source_finder(Ecosystem.RUST, project).find(name, wanted)
    members = {
        "crate_name": source.name,
        "version": source.version,
        "checkout_path": str(source.place.root),
        "message": _message(source),
    }
    if pattern is None:
        return members
    return members | _matches(await search_source(source, pattern, (".rs",)))


async def fetch_answer(project: Path, named: Named, python: str | None) -> dict[str, Any]:
    """Locate the source of a package.

    Raises:
        PackageError: it is unavailable.
    """
    return _source_members(await _found(project, named, None if python is None else Path(python)))


async def search_answer(project: Path, named: Named, pattern: str) -> dict[str, Any]:
    """Search the source of a package.

    Raises:
        PackageError: it is unavailable, or the pattern is malformed.
    """
    check_pattern(pattern)
    source = await _found(project, named)
    return _source_members(source) | _matches(await search_source(source, pattern))


async def read_answer(
    project: Path, named: Named, path: str, lines: tuple[int, int | None]
) -> dict[str, Any]:
    """Read a file of a package.

    Raises:
        PackageError: it is unavailable, or the path is outside the package.
        NotFoundError: the file does not exist.
    """
    source = await _found(project, named)
    shown = msgspec.to_builtins(read_source(source, path, *lines))
    return {"name": source.name, "version": source.version, **shown}


async def _found(project: Path, named: Named, interpreter: Path | None = None) -> Source:
    ecosystem, name, wanted = named
    finder = source_finder(Ecosystem(ecosystem), project, interpreter=interpreter)
    return await finder.find(name, wanted)


def _source_members(source: Source) -> dict[str, Any]:
    members: dict[str, Any] = {
        "ecosystem": source.ecosystem.value,
        "name": source.name,
        "version": source.version,
        "source_path": str(source.place.root),
        "message": _message(source),
    }
    return members | ({"parts": list(source.place.parts)} if source.place.parts else {})


def _message(source: Source) -> str:
    where = describe(source.place.origin)
    return f"{source.name} {source.version}, {source.why}; its source was {where}"


def _matches(found: Matches) -> dict[str, Any]:
    lists = msgspec.to_builtins(
        {"example_matches": found.example_matches, "other_matches": found.other_matches}
    )
    return lists | ({"is_cut": True} if found.is_cut else {})

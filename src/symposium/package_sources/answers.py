"""What the tools answer: where a source is, what matches in it, what a file of it says."""

from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from symposium.package_sources.desk import describe
from symposium.package_sources.desks import desk_of
from symposium.package_sources.model import Ecosystem, Source
from symposium.package_sources.reading import read_source
from symposium.package_sources.searching import Matches, check_pattern, search_source

Named: TypeAlias = tuple[str, str, str | None]
"""An ecosystem, a package's name, and a range of versions if one was asked for."""


async def crate_answer(
    project: Path, name: str, wanted: str | None, pattern: str | None
) -> dict[str, Any]:
    """The source of a crate, in the shape of `get_rust_crate_source` (bus-mcp §2.3).

    Raises:
        PackageError: it cannot be had, or the pattern is none.
    """
    if pattern is not None:
        check_pattern(pattern)
    source = await desk_of(Ecosystem.RUST, project).find(name, wanted)
    told = {
        "crate_name": source.name,
        "version": source.version,
        "checkout_path": str(source.place.root),
        "message": _message(source),
    }
    if pattern is None:
        return told
    return told | _matches(await search_source(source, pattern, (".rs",)))


async def fetch_answer(project: Path, named: Named, python: str | None) -> dict[str, Any]:
    """Where the source of a package is.

    Raises:
        PackageError: it cannot be had.
    """
    return _told(await _found(project, named, None if python is None else Path(python)))


async def search_answer(project: Path, named: Named, pattern: str) -> dict[str, Any]:
    """What matches in the source of a package.

    Raises:
        PackageError: it cannot be had, or the pattern is none.
    """
    check_pattern(pattern)
    source = await _found(project, named)
    return _told(source) | _matches(await search_source(source, pattern))


async def read_answer(
    project: Path, named: Named, path: str, lines: tuple[int, int | None]
) -> dict[str, Any]:
    """What a file of a package says.

    Raises:
        PackageError: it cannot be had, or the path leads out of it.
        NotFoundError: it has no such file.
    """
    source = await _found(project, named)
    shown = msgspec.to_builtins(read_source(source, path, *lines))
    return {"name": source.name, "version": source.version, **shown}


async def _found(project: Path, named: Named, interpreter: Path | None = None) -> Source:
    ecosystem, name, wanted = named
    desk = desk_of(Ecosystem(ecosystem), project, interpreter=interpreter)
    return await desk.find(name, wanted)


def _told(source: Source) -> dict[str, Any]:
    told: dict[str, Any] = {
        "ecosystem": source.ecosystem.value,
        "name": source.name,
        "version": source.version,
        "source_path": str(source.place.root),
        "message": _message(source),
    }
    return told | ({"parts": list(source.place.parts)} if source.place.parts else {})


def _message(source: Source) -> str:
    where = describe(source.place.origin)
    return f"{source.name} {source.version}, {source.why}; its source was {where}"


def _matches(found: Matches) -> dict[str, Any]:
    lists = msgspec.to_builtins(
        {"example_matches": found.example_matches, "other_matches": found.other_matches}
    )
    return lists | ({"is_cut": True} if found.is_cut else {})

"""Searches the source of a package for a pattern, within a time."""

import asyncio
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from symposium.package_sources.model import PatternError, Source
from symposium.package_sources.search_process import run_search

SEARCH_TIME: Final = 10.0
MOST_MATCHES: Final = 50
"""In examples, and as many elsewhere."""

MOST_PATTERN: Final = 2000

_PROGRAM: Final = Path(__file__).with_name("search_run.py")


class Match(msgspec.Struct, frozen=True):
    """A line that matches, with the two before and after it; lines count from 1."""

    file_path: str
    line_number: int
    context_start_line: int
    context_end_line: int
    context: str


class Matches(msgspec.Struct, frozen=True):
    """What was found: in examples, elsewhere, and whether there was more."""

    example_matches: list[Match] = []
    other_matches: list[Match] = []
    is_cut: bool = False


def check_pattern(pattern: str) -> None:
    """Refuse what is no regular expression.

    Raises:
        PatternError: it is none.
    """
    if len(pattern) > MOST_PATTERN:
        raise PatternError(f"Invalid regex pattern: longer than {MOST_PATTERN} characters", "")
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise PatternError(f"Invalid regex pattern: {error}", "Python's `re` reads it") from error


async def search_source(
    source: Source, pattern: str, endings: Sequence[str] = ("",), *, seconds: float = SEARCH_TIME
) -> Matches:
    """Every line that matches; hidden files, `target` and `node_modules` are left out.

    Args:
        source: where to look.
        pattern: a regular expression of Python.
        endings: of the names of files to look into; all by default.
        seconds: how long it may take.

    Raises:
        PatternError: it is none, or took too long.
    """
    check_pattern(pattern)
    asked = {
        "root": str(source.place.root),
        "parts": source.place.parts,
        "endings": list(endings),
        "pattern": pattern,
        "most": MOST_MATCHES,
    }
    # Isolated, so that neither an environment nor a directory has a say in what it imports.
    argv = (sys.executable, "-I", "-S", str(_PROGRAM))
    try:
        async with asyncio.timeout(seconds):
            said = await run_search(argv, msgspec.json.encode(asked), cwd=source.place.root)
    except TimeoutError as error:
        raise PatternError(
            f"the search for {pattern[:80]!r} took longer than {seconds:g} s and was stopped",
            "write a pattern that can match a text in one way only",
        ) from error
    return msgspec.json.decode(said, type=Matches)

"""Searches files for a regular expression, within bounds of time and size."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from symposium.code.operations import FileLocation, FileRange
from symposium.errors import SymposiumError
from symposium.git.questions import end_process

PATIENCE: Final = 5.0
"""Seconds that one search may take."""

MOST_HITS: Final = 1000
"""Hits of one search that are told."""

MOST_REGEX: Final = 1000
"""Characters of the longest expression."""

_WORKER: Final = Path(__file__).with_name("search_worker.py")


class SearchError(SymposiumError):
    """An expression is none, or cannot be searched for in time."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to search for.

    Attributes:
        regex: as Python's `re` knows it.
        is_whole: every hit of the whole text, whatever the case; else the first hit of a line.
        most: hits that are told.
    """

    regex: str
    is_whole: bool = False
    most: int = MOST_HITS


async def search_files(files: Sequence[Path], wanted: Wanted) -> list[FileRange]:
    """The hits, in the order of the files; paths are as they were given.

    Raises:
        SearchError: the expression is none, or takes too long.
    """
    if len(wanted.regex) > MOST_REGEX:
        raise SearchError(f"the expression has more than {MOST_REGEX} characters", "shorten it")
    if not files:
        # Also of nothing an expression that is none is told of.
        files = [Path(os.devnull)]
    question = {
        "regex": wanted.regex,
        "files": [str(path) for path in files],
        "whole": wanted.is_whole,
        "most": wanted.most,
    }
    answer = await _asked(json.dumps(question).encode())
    rows = [json.loads(line) for line in answer.splitlines()]
    return [_hit(files, row, wanted.regex) for row in rows]


def _hit(files: Sequence[Path], row: Any, regex: str) -> FileRange:
    match row:
        case [int(number), int(at), int(first), int(last), str(content)]:
            start, end = FileLocation(at, first), FileLocation(at, last)
            return FileRange(str(files[number]), start, end, content)
        case {"error": str(reason)}:
            raise SearchError(f"{regex!r}: {reason}", "mend the expression")
        case _:
            raise SearchError(f"{regex!r}: the search has answered oddly", "")


async def _asked(question: bytes) -> bytes:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-B", str(_WORKER)),
        cwd="/",
        env={"LC_ALL": "C.UTF-8"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            output, _ = await process.communicate(question)
    except TimeoutError as error:
        message = f"the search has not ended within {PATIENCE:g} s"
        raise SearchError(message, "simplify the expression, or search fewer files") from error
    finally:
        await end_process(process)
    if process.returncode:
        raise SearchError(f"the search has failed with {process.returncode}", "search fewer files")
    return output

"""Search files for a regular expression, with limits on time and size."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from localio.processes import ProcessSpec, run_with_input
from symposium.code.ide_operations import CodePosition, CodeRange
from symposium.errors import SymposiumError

SEARCH_TIMEOUT: Final = 5.0
"""Maximum seconds for a search."""

MAX_HITS: Final = 1000
"""Maximum number of hits."""

MAX_REGEX: Final = 1000
"""Maximum length of an expression, in characters."""

_WORKER: Final = Path(__file__).with_name("search_worker.py")


class SearchError(SymposiumError):
    """A regular expression is invalid, or searching for it takes too long."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A search.

    Attributes:
        regex: expression in the syntax of Python's `re`.
        is_whole: find every hit in the whole text, ignoring case; otherwise the first hit per line.
        max_hits: maximum number of hits.
    """

    regex: str
    is_whole: bool = False
    max_hits: int = MAX_HITS


async def search_files(files: Sequence[Path], wanted: Wanted) -> list[CodeRange]:
    """Hits in the order of the files, with the given paths.

    Raises:
        SearchError: the expression is invalid, or takes too long.
    """
    if len(wanted.regex) > MAX_REGEX:
        raise SearchError(f"the expression has more than {MAX_REGEX} characters", "shorten it")
    if not files:
        # Check the expression even if there are no files.
        files = [Path(os.devnull)]
    question = {
        "regex": wanted.regex,
        "files": [str(path) for path in files],
        "whole": wanted.is_whole,
        "max_hits": wanted.max_hits,
    }
    answer = await _asked(json.dumps(question).encode())
    rows = [json.loads(line) for line in answer.splitlines()]
    return [_hit(files, row, wanted.regex) for row in rows]


def _hit(files: Sequence[Path], row: Any, regex: str) -> CodeRange:
    match row:
        case [int(number), int(at), int(first), int(last), str(content)]:
            start, end = CodePosition(at, first), CodePosition(at, last)
            return CodeRange(str(files[number]), start, end, content)
        case {"error": str(reason)}:
            raise SearchError(f"{regex!r}: {reason}", "fix the expression")
        case _:
            raise SearchError(f"{regex!r}: unexpected output from the search process", "")


async def _asked(question: bytes) -> bytes:
    argv = (sys.executable, "-I", "-S", "-B", str(_WORKER))
    spec = ProcessSpec(argv, {"LC_ALL": "C.UTF-8"}, Path("/"))
    try:
        async with asyncio.timeout(SEARCH_TIMEOUT):
            done = await run_with_input(spec, question)
    except TimeoutError as error:
        message = f"the search timed out after {SEARCH_TIMEOUT:g} s"
        raise SearchError(message, "simplify the expression, or search fewer files") from error
    if done.code:
        raise SearchError(f"the search exited with code {done.code}", "search fewer files")
    return done.said

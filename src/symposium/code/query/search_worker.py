"""Searches files for a regular expression, in a process that can be ended.

An expression that never finishes cannot be stopped from within: the process that started this
program ends it. Reads one JSON object from stdin, writes a JSON array for each hit. Imports nothing
from Symposium: it is run by its path, without any packages.
"""

import json
import re
import resource
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

MAX_FILE_BYTES: Final = 4 * 1024 * 1024
"""Bytes of the largest file that is looked into."""

MAX_CONTENT: Final = 1000
"""Characters of a line that are reported."""

_MEMORY: Final = 1024 * 1024 * 1024
_BINARY_HEAD: Final = 8000


def hits_by_line(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int, int, str]]:
    """The first hit of each line: line, first column, column after it, the line."""
    for number, line in enumerate(text.split("\n"), 1):
        shown = line.removesuffix("\r")
        if found := pattern.search(shown):
            yield number, found.start() + 1, found.end() + 1, shown[:MAX_CONTENT]


def hits_in_whole(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int, int, str]]:
    """Every hit in the whole text, which may begin in one line and end in another."""
    for found in pattern.finditer(text):
        begin = text.rfind("\n", 0, found.start()) + 1
        end = text.find("\n", begin)
        line = text[begin:] if end < 0 else text[begin:end]
        number = text.count("\n", 0, begin) + 1
        last = min(found.end() - begin, len(line)) + 1
        yield number, found.start() - begin + 1, last, line.removesuffix("\r")[:MAX_CONTENT]


def text_of(path: Path) -> str | None:
    """Text of a file; None if it is too large, not text, or unreadable."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_FILE_BYTES:
            return None
        raw = path.read_bytes()
        return None if b"\0" in raw[:_BINARY_HEAD] else raw.decode()
    except (OSError, UnicodeDecodeError):
        return None


def search(wanted: dict[str, Any]) -> Iterator[list[Any]]:
    """The hits: the number of the file, then the hit."""
    is_whole: bool = wanted["whole"]
    pattern = re.compile(wanted["regex"], re.IGNORECASE | re.MULTILINE if is_whole else 0)
    find = hits_in_whole if is_whole else hits_by_line
    left: int = wanted["most"]
    for number, name in enumerate(wanted["files"]):
        text = text_of(Path(name))
        for hit in () if text is None else find(pattern, text):
            yield [number, *hit]
            left -= 1
            if not left:
                return


def main() -> None:
    """Search as stdin says."""
    # Not every system lets a process bound its memory; its starter bounds its time.
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    wanted = json.load(sys.stdin)
    try:
        for hit in search(wanted):
            sys.stdout.write(f"{json.dumps(hit)}\n")
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        sys.stdout.write(f"{json.dumps({'error': str(error) or type(error).__name__})}\n")


if __name__ == "__main__":
    main()

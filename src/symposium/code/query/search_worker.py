"""Search files for a regular expression, in a separate process that can be killed.

A matching attempt may never finish and cannot be stopped from within its process. Reads one JSON
object from stdin, and writes a JSON array per hit. Imports nothing from Symposium: it runs by its
path, without any packages.
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
"""Maximum size of a file, in bytes."""

MAX_CONTENT: Final = 1000
"""Maximum length of a reported line, in characters."""

_MEMORY: Final = 1024 * 1024 * 1024
_BINARY_HEAD: Final = 8000


def hits_by_line(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int, int, str]]:
    """First hit of each line: line, first column, column after it, text of the line."""
    for number, line in enumerate(text.split("\n"), 1):
        shown = line.removesuffix("\r")
        if found := pattern.search(shown):
            yield number, found.start() + 1, found.end() + 1, shown[:MAX_CONTENT]


def hits_in_whole(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int, int, str]]:
    """Every hit in the whole text; may span lines."""
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
    """Hits, each with the index of its file."""
    is_whole: bool = wanted["whole"]
    pattern = re.compile(wanted["regex"], re.IGNORECASE | re.MULTILINE if is_whole else 0)
    find = hits_in_whole if is_whole else hits_by_line
    left: int = wanted["max_hits"]
    for number, name in enumerate(wanted["files"]):
        text = text_of(Path(name))
        for hit in () if text is None else find(pattern, text):
            yield [number, *hit]
            left -= 1
            if not left:
                return


def main() -> None:
    """Run the search described on stdin."""
    # Not every system limits the memory of a process; the parent limits its time.
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

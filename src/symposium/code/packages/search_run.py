"""Search files for a pattern, in a separate process that can be killed.

Reads a JSON object from stdin and writes one to stdout. Imports only the standard library, to start
fast and without this package.
"""

import json
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

CONTEXT_LINES: Final = 2
"""Lines of context on either side (bus-mcp §2.3)."""

MAX_FILE: Final = 4 * 1024 * 1024
MAX_LINE: Final = 400
"""Maximum size of a file in bytes, and of a displayed line in characters."""

SKIPPED: Final = frozenset({"target", "node_modules", "__pycache__"})


def main() -> None:
    """Search and print the result."""
    asked: dict[str, Any] = json.load(sys.stdin)
    pattern = re.compile(asked["pattern"])
    root, most = Path(asked["root"]), int(asked["most"])
    found: dict[str, list[dict[str, Any]]] = {"example_matches": [], "other_matches": []}
    is_cut = False
    for file in _files(root, asked["parts"], tuple(asked["endings"])):
        path = file.relative_to(root)
        matches = found["example_matches" if "examples" in path.parts[:-1] else "other_matches"]
        matches += islice(_search(file, path.as_posix(), pattern), most + 1 - len(matches))
        is_cut = is_cut or len(matches) > most
        del matches[most:]
    json.dump({**found, "is_cut": is_cut}, sys.stdout)


def _files(root: Path, parts: Sequence[str], endings: tuple[str, ...]) -> Iterator[Path]:
    """Files of the package in order, without hidden ones; links are not followed."""
    for top in sorted(root / each for each in parts) or [root]:
        if top.is_file() and not top.is_symlink() and top.name.endswith(endings):
            yield top
        # Links are never opened, and linked directories are not entered.
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(each for each in folders if _is_shown(each))
            for name in sorted(names):
                if name.endswith(endings) and _is_shown(name):
                    yield Path(folder, name)


def _is_shown(name: str) -> bool:
    return name not in SKIPPED and not name.startswith(".")


def _search(file: Path, path: str, pattern: re.Pattern[str]) -> Iterator[dict[str, Any]]:
    """Matching lines with their context."""
    lines = _text(file).splitlines()
    for at, line in enumerate(lines):
        if pattern.search(line):
            first, last = max(0, at - CONTEXT_LINES), min(len(lines) - 1, at + CONTEXT_LINES)
            yield {
                "file_path": path,
                "line_number": at + 1,
                "context_start_line": first + 1,
                "context_end_line": last + 1,
                "context": "\n".join(each[:MAX_LINE] for each in lines[first : last + 1]),
            }


def _text(file: Path) -> str:
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with os.fdopen(handle, "rb") as opened:
        seen = os.fstat(handle)
        is_fit = stat.S_ISREG(seen.st_mode) and seen.st_size <= MAX_FILE
        return opened.read(MAX_FILE).decode(errors="replace") if is_fit else ""


if __name__ == "__main__":
    main()

"""Open documents of a language server, and conversion of columns."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from localio.files import regular_content
from peerwire.jsonrpc.handlers import Peer
from symposium.code.ide_operations import CodePosition, CodeRange

_LAST_OF_ONE_UNIT: Final = 0xFFFF


def to_units(line: str, column: int) -> int:
    """UTF-16 offset of a column; the end of the line for larger columns."""
    before = line[: max(column - 1, 0)]
    return len(before) + sum(ord(character) > _LAST_OF_ONE_UNIT for character in before)


def to_column(line: str, units: int) -> int:
    """Column of the character at a UTF-16 offset."""
    seen = 0
    for column, character in enumerate(line, start=1):
        seen += 2 if ord(character) > _LAST_OF_ONE_UNIT else 1
        if seen > units:
            return column
    return len(line) + 1


MAX_ENTRIES: Final = 5000
"""Maximum number of files and folders visited to detect a language."""

MAX_BYTES: Final = 4 * 1024 * 1024
"""Maximum size of a file for a server, in bytes."""

_SKIPPED: Final = frozenset({"node_modules", "__pycache__", "target", "dist", "build"})


def uri_of(path: Path) -> str:
    """URI of an absolute path."""
    return f"file://{quote(str(path))}"


def path_of(uri: str) -> Path:
    """Path of a `file` URI."""
    return Path(unquote(urlsplit(uri).path))


def first_file(root: Path, endings: frozenset[str]) -> Path | None:
    """A file with one of these endings, close to the root; None if not found within limits."""
    return next((path for path in _walk(root) if path.suffix in endings), None)


class UnreadableFileError(Exception):
    """A file of a request is missing, unreadable, too large, or not text."""


class Documents:
    """Files that are open in a server."""

    def __init__(self, server: Peer) -> None:
        self._server = server
        self._open: dict[Path, tuple[str, int]] = {}
        self._split: tuple[str, list[str]] = ("", [""])

    def show(self, path: Path, language_id: str) -> str:
        """Open a file in the server or send its changes; returns the URI.

        Raises:
            UnreadableFileError: the file is unreadable, too large, not text, or a pipe.
        """
        try:
            text = _plain(regular_content(path, MAX_BYTES).decode())
        except OSError as error:
            raise UnreadableFileError(str(error)) from error
        except ValueError as error:
            raise UnreadableFileError(f"{path}: {error}") from error
        uri = uri_of(path)
        known, version = self._open.get(path, (None, 0))
        if known == text:
            return uri
        self._open[path] = text, version + 1
        if known is None:
            document = {"uri": uri, "languageId": language_id, "version": 1, "text": text}
            self._server.notify("textDocument/didOpen", {"textDocument": document})
        else:
            changed = {"uri": uri, "version": version + 1}
            change = {"textDocument": changed, "contentChanges": [{"text": text}]}
            self._server.notify("textDocument/didChange", change)
        return uri

    def version(self, path: Path) -> int:
        """Last version sent; 0 for a file that is not open."""
        return self._open.get(path, ("", 0))[1]

    def range(self, uri: str, span: Any) -> CodeRange:
        """Convert a range from a server to a `CodeRange`."""
        path = path_of(uri)
        lines = self._lines(path)
        start, end = span["start"], span["end"]
        row: int = start["line"]
        content = lines[row] if row < len(lines) else None
        return CodeRange(str(path), _location(lines, start), _location(lines, end), content)

    def line(self, path: Path, line: int) -> str:
        """Text of a line, counted from 1; empty if it does not exist."""
        lines = self._lines(path)
        return lines[line - 1] if 0 < line <= len(lines) else ""

    def _lines(self, path: Path) -> list[str]:
        text, _ = self._open.get(path, (None, 0))
        if text is None:
            try:
                text = _plain(regular_content(path, MAX_BYTES).decode(errors="replace"))
            except (OSError, ValueError):
                text = ""
        # Ranges often come in groups from the same file.
        if text != self._split[0]:
            # Not splitlines: a form feed does not start a line.
            self._split = text, text.split("\n")
        return self._split[1]


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _location(lines: list[str], position: Any) -> CodePosition:
    row: int = position["line"]
    line = lines[row] if row < len(lines) else ""
    return CodePosition(row + 1, to_column(line, position["character"]))


def _walk(root: Path) -> Iterator[Path]:
    level, seen = [root], 0
    while level:
        folders: list[Path] = []
        for folder in level:
            try:
                with os.scandir(folder) as listed:
                    # Yield between entries: a folder may be very large.
                    entries = sorted(islice((Path(each) for each in listed), MAX_ENTRIES + 1))
            except OSError:
                continue
            for entry in entries:
                seen += 1
                if seen > MAX_ENTRIES:
                    return
                if entry.name.startswith(".") or entry.name in _SKIPPED or entry.is_symlink():
                    continue
                if entry.is_dir():
                    folders.append(entry)
                elif entry.is_file():
                    yield entry
        level = folders

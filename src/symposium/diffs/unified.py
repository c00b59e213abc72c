"""Reads the unified diffs that git writes. Pure: knows no git and no files."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from symposium.diffs.model import FileChange, Hunk, Line, LineType, Status

_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_OCTAL: Final = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPES: Final = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_TYPES: Final[dict[str, LineType]] = {"+": "Added", "-": "Removed", " ": "Context"}


@dataclass(slots=True)
class _File:
    """A file whose lines are still being read."""

    path: str = ""
    old_path: str | None = None
    status: Status = "Modified"
    is_binary: bool = False
    hunks: list[Hunk] = field(default_factory=list[Hunk])

    def change(self, *, is_cut: bool) -> FileChange:
        lines = [line.line_type for hunk in self.hunks for line in hunk.lines]
        return FileChange(
            self.path,
            self.status,
            lines.count("Added"),
            lines.count("Removed"),
            self.hunks,
            self.old_path,
            self.is_binary,
            is_cut,
        )


def parse_diff(text: str, *, is_cut: bool = False) -> list[FileChange]:
    """The files of a diff.

    Args:
        text: what `git diff` wrote, with the prefixes `a/` and `b/`.
        is_cut: whether its end is missing; the last file says so then.
    """
    files: list[_File] = []
    # Not splitlines: a form feed or a lone carriage return ends no line of a file.
    lines = iter(text.split("\n"))
    for line in lines:
        if line.startswith("diff --git "):
            files.append(_File(path=_same_name(line.removeprefix("diff --git "))))
        elif files and (found := _HUNK.match(line)):
            files[-1].hunks.append(_hunk(line, found, lines))
        elif files:
            _read_header(files[-1], line)
    last = len(files) - 1
    return [each.change(is_cut=is_cut and at == last) for at, each in enumerate(files)]


def _hunk(header: str, found: re.Match[str], lines: Iterator[str]) -> Hunk:
    old, new = int(found[1]), int(found[3])
    old_left = 1 if found[2] is None else int(found[2])
    new_left = 1 if found[4] is None else int(found[4])
    hunk = Hunk(header.rstrip(), old, old_left, new, new_left, [])
    # Counted, as a removed line that begins with dashes looks like a header.
    while old_left > 0 or new_left > 0:
        line = next(lines, None)
        if line is None:
            break
        kind = _TYPES.get(line[:1]) or ("Context" if not line else None)
        if kind is None:
            continue  # that a line has no ending
        has_old, has_new = kind != "Added", kind != "Removed"
        content = line[1:].removesuffix("\r")
        hunk.lines.append(Line(kind, content, old if has_old else None, new if has_new else None))
        old, old_left = old + has_old, old_left - has_old
        new, new_left = new + has_new, new_left - has_new
    return hunk


def _read_header(file: _File, line: str) -> None:
    key, _, rest = line.partition(" ")
    match key:
        case "---" if rest != "/dev/null":
            file.path = _name(rest, "a/")
        case "+++" if rest != "/dev/null":
            file.path = _name(rest, "b/")
        case "new":
            file.status = "Added" if rest.startswith("file mode") else file.status
        case "deleted":
            file.status = "Deleted"
        case "rename" | "copy":
            side, _, name = rest.partition(" ")
            if side == "from":
                file.old_path = _name(name, "")
            else:
                file.path = _name(name, "")
                file.status = "Added" if key == "copy" else "Modified"
        case "Binary":
            file.is_binary = True
        case _:
            pass


def _same_name(names: str) -> str:
    """The name from `a/NAME b/NAME`; what the lines after it say wins over it."""
    half = names[: (len(names) - 1) // 2]
    return _name(half, "a/")


def _name(text: str, prefix: str) -> str:
    """A name as git writes it: in quotes if it has odd characters, a tab after one with spaces."""
    text = text.removesuffix("\t")
    if len(text) > 1 and text[0] == text[-1] == '"':
        raw = text[1:-1].encode(errors="surrogateescape")
        text = _OCTAL.sub(_unescaped, raw).decode(errors="replace")
    return text.removeprefix(prefix)


def _unescaped(found: re.Match[bytes]) -> bytes:
    escape = found[1]
    if len(escape) > 1:
        return bytes([int(escape, 8) & 0xFF])
    return _ESCAPES.get(escape, escape)

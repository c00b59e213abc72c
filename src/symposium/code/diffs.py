"""Git diffs as structured data."""

import asyncio
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from localio.git import GitRepository, GitRunError, open_repository
from symposium.config.git import stand_ins

Status: TypeAlias = Literal["Added", "Modified", "Deleted"]
LineType: TypeAlias = Literal["Added", "Removed", "Context"]


class DiffLine(Struct, frozen=True):
    """A line of a hunk without its ending; each number is for a side that has it, from 1."""

    line_type: LineType
    content: str
    old_line_number: int | None
    new_line_number: int | None


class Hunk(Struct, frozen=True):
    """Adjacent changed lines, with three lines of context."""

    header: str
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: list[DiffLine]


class FileChange(Struct, frozen=True, omit_defaults=True):
    """A changed file; a renamed one counts as modified, a copied one as added.

    Attributes:
        old_path: previous path, if renamed or copied.
        is_binary: whether it has no lines.
        is_cut: whether some changes are omitted.
    """

    path: str
    status: Status
    additions: int
    deletions: int
    hunks: list[Hunk]
    old_path: str | None = None
    is_binary: bool = False
    is_cut: bool = False


class Changes(Struct, frozen=True, omit_defaults=True):
    """Changed files; `is_cut` means that some are omitted."""

    files: list[FileChange]
    is_cut: bool = False


_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_OCTAL: Final = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPES: Final = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_TYPES: Final[dict[str, LineType]] = {"+": "Added", "-": "Removed", " ": "Context"}


@dataclass(slots=True)
class _File:
    """A file while its lines are parsed."""

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
    """Files of a diff.

    Args:
        text: output of `git diff`, with the prefixes `a/` and `b/`.
        is_cut: whether the end is missing; it is then set on the last file.
    """
    files: list[_File] = []
    # Not splitlines: a form feed or a lone carriage return does not end a line.
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
    # Counted, because a removed line that starts with dashes looks like a header.
    while old_left > 0 or new_left > 0:
        line = next(lines, None)
        if line is None:
            break
        kind = _TYPES.get(line[:1]) or ("Context" if not line else None)
        if kind is None:
            continue  # marker of a missing line ending
        has_old, has_new = kind != "Added", kind != "Removed"
        content = line[1:].removesuffix("\r")
        hunk.lines.append(
            DiffLine(kind, content, old if has_old else None, new if has_new else None)
        )
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
    """The name in `a/NAME b/NAME`; later header lines override it."""
    half = names[: (len(names) - 1) // 2]
    return _name(half, "a/")


def _name(text: str, prefix: str) -> str:
    """A name as written by git: quoted if it has special characters, with a tab after spaces."""
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


MAX_FILE_BYTES: Final = 1024 * 1024
"""Maximum size of an untracked file with reported lines, in bytes."""

MAX_FILES: Final = 2000
"""Maximum number of reported untracked files."""

_DIFF: Final = (
    *("diff", "--no-ext-diff", "--no-textconv", "--no-color", "-M", "-U3"),
    *("--src-prefix=a/", "--dst-prefix=b/", "--inter-hunk-context=0", "--submodule=short"),
    *("--ignore-submodules=dirty", "-O/dev/null"),
)
_BINARY_HEAD: Final = 8000


@dataclass(frozen=True, slots=True)
class DiffRange:
    """A range of commits, and excluded changes.

    Attributes:
        text: `A..B`, `A...B`, `A..`, `..B`, or one revision to compare with the working tree.
        excludes_unstaged: exclude unstaged changes and untracked files.
        excludes_staged: exclude changes that are only in the index.
    """

    text: str
    excludes_unstaged: bool = False
    excludes_staged: bool = False


async def changes(folder: Path, wanted: DiffRange) -> Changes:
    """Changes in a range; paths are relative to the root of the repository.

    Raises:
        GitRunError: the repository or a revision does not exist.
    """
    repository = await open_repository(folder, stand_ins())
    text = wanted.text.strip().strip("\"'`")
    if ".." not in text:
        return await _since(repository, text or "HEAD", wanted)
    dots = "..." if "..." in text else ".."
    old, _, new = text.partition(dots)
    first = await _commit(repository, old or "HEAD")
    last = await _commit(repository, new or "HEAD")
    if dots == "...":
        first = (await repository.output("merge-base", first, last)).strip()
    return await _diff(repository, first, last)


async def _since(repository: GitRepository, revision: str, wanted: DiffRange) -> Changes:
    first = await _commit(repository, revision)
    head = await _commit(repository, "HEAD")
    match wanted.excludes_staged, wanted.excludes_unstaged:
        case True, True:
            return await _diff(repository, first, head)
        case False, True:
            return await _diff(repository, "--cached", first)
        case True, False:
            committed = await _diff(repository, first, head)
            return _joined(committed, await _diff(repository), await _unknown(repository))
        case _:
            return _joined(await _diff(repository, first), await _unknown(repository))


async def _diff(repository: GitRepository, *what: str) -> Changes:
    answer = await repository.ask(*_DIFF, *what, "--")
    if answer.code:
        raise GitRunError(f"git diff: {answer.said}", "")
    return Changes(parse_diff(answer.shown, is_cut=answer.is_cut), answer.is_cut)


def _joined(*parts: Changes) -> Changes:
    files = [file for part in parts for file in part.files]
    return Changes(files, any(part.is_cut for part in parts))


async def _commit(repository: GitRepository, revision: str) -> str:
    """The commit or tree of a revision; tags are resolved."""
    if revision.startswith("-") or "\0" in revision or "\n" in revision:
        raise GitRunError(f"invalid revision: {revision!r}", "name a commit")
    for kind in ("commit", "tree"):
        named = ["--verify", "--quiet", "--end-of-options", f"{revision}^{{{kind}}}"]
        answer = await repository.ask("rev-parse", *named)
        if not answer.code:
            return answer.shown.strip().removeprefix("--end-of-options").strip()
    if revision == "HEAD":
        # There are no commits yet, so every file is new.
        return (await repository.output("hash-object", "-t", "tree", "/dev/null")).strip()
    raise GitRunError(f"unknown commit {revision!r} in {repository.top}", "see git log")


async def _unknown(repository: GitRepository) -> Changes:
    """Untracked files that are not ignored, as added files."""
    answer = await repository.ask("ls-files", "--others", "--exclude-standard", "-z")
    names = [name for name in answer.shown.split("\0") if name and not name.endswith("/")]
    files = await asyncio.to_thread(
        lambda: [_added(repository.top, name) for name in names[:MAX_FILES]]
    )
    return Changes([file for file in files if file], answer.is_cut or len(names) > MAX_FILES)


def _added(top: Path, name: str) -> FileChange | None:
    path = top / name
    try:
        state = path.lstat()
        if stat.S_ISLNK(state.st_mode):
            # The target of a link is not part of the change.
            raw = str(path.readlink()).encode()
        elif stat.S_ISREG(state.st_mode) and state.st_size <= MAX_FILE_BYTES:
            raw = path.read_bytes()
        else:
            return FileChange(name, "Added", 0, 0, [], is_cut=True)
    except OSError:
        return None
    if b"\0" in raw[:_BINARY_HEAD]:
        return FileChange(name, "Added", 0, 0, [], is_binary=True)
    lines = raw.decode(errors="replace").split("\n")
    if not lines[-1]:
        lines.pop()
    if not lines:
        return FileChange(name, "Added", 0, 0, [])
    added = [
        DiffLine("Added", line.removesuffix("\r"), None, number)
        for number, line in enumerate(lines, 1)
    ]
    hunk = Hunk(f"@@ -0,0 +1,{len(added)} @@", 0, 0, 1, len(added), added)
    return FileChange(name, "Added", len(added), 0, [hunk])

"""Functions on files, diffs, and comments."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, cast

import msgspec
from msgspec import Struct, field

from localio.files import regular_content
from symposium.code.diffs import Changes, DiffRange, changes
from symposium.code.ide_operations import CodePosition, CodeRange, SymbolDefinition
from symposium.code.query.functions import DialectError, Function, Hint, Scope
from symposium.code.query.search import Wanted, search_files
from symposium.code.query.symbol_functions import SymbolRef

MAX_FILE_BYTES: Final = 16 * 1024 * 1024
"""Maximum size of a file for `lines`, in bytes."""

MAX_LINES: Final = 2000
"""Maximum number of lines per call."""

MAX_PATHS: Final = 1000
"""Maximum number of paths in a result."""

_MAX_STARS: Final = 8
_GLOB: Final = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")


class Search(Function, frozen=True):
    """Find a regular expression in a file, or in the files of a folder.

    Returns the first hit of each line. Hidden and git-ignored files are left out; `extension`
    selects files by the end of their name. A missing path returns an empty list.
    """

    RESULT: ClassVar[str] = "CodeRange[]"

    path: str
    regex: str
    extension: str | None = None

    async def run(self, scope: Scope) -> Any:
        """Search the files in `path`."""
        return await _search(scope, self.path, self.regex, self.extension)


class SearchFiles(Function, frozen=True):
    """Like `search`, in the whole workspace unless `path` is given."""

    RESULT: ClassVar[str] = "CodeRange[]"

    regex: str
    path: str = "."
    extension: str | None = None

    async def run(self, scope: Scope) -> Any:
        """Search the files in `path`, by default all of the workspace."""
        return await _search(scope, self.path, self.regex, self.extension)


class FindFiles(Function, frozen=True):
    """Find files whose path matches a pattern: `*` within a folder, `**` across folders."""

    RESULT: ClassVar[str] = "string[]"

    pattern: str
    path: str = "."

    async def run(self, scope: Scope) -> Any:
        """List the files and match them."""
        pattern = _glob(self.pattern)
        folder = scope.workspace.find(self.path)
        if not folder.is_dir():
            return []
        names = [scope.workspace.shown(path) for path in await scope.workspace.files(folder)]
        return [name for name in names if pattern.fullmatch(name)][:MAX_PATHS]


class Lines(Function, frozen=True):
    """Return the lines of a file from `start` to `end`, both counted from 1 and inclusive."""

    RESULT: ClassVar[str] = "CodeRange"

    path: str
    start: int
    end: int

    async def run(self, scope: Scope) -> Any:
        """Read the lines, or raise `DialectError` if they do not exist."""
        if not 1 <= self.start <= self.end:
            hint = "give the first and the last line, counted from 1"
            raise DialectError(f"invalid lines {self.start} to {self.end}", hint)
        path = scope.workspace.find(self.path)
        lines = await asyncio.to_thread(_lines, path)
        if self.start > len(lines):
            raise DialectError(f"{self.path} has {len(lines)} lines", "use lines that exist")
        end = min(self.end, len(lines), self.start + MAX_LINES - 1)
        excerpt = lines[self.start - 1 : end]
        last = CodePosition(end, max(len(excerpt[-1]), 1))
        shown = scope.workspace.shown(path)
        return CodeRange(shown, CodePosition(self.start, 1), last, "\n".join(excerpt))


async def _search(
    scope: Scope, path: str, regex: str, extension: str | None
) -> Sequence[CodeRange]:
    place = scope.workspace.find(path)
    if place.is_dir():
        files = await scope.workspace.files(place)
    else:
        files = [place] if place.is_file() else []
        if not files:
            scope.hints.append(Hint(path, f"{path} does not exist", []))
    if extension is not None:
        # As in the reference: the end of the name, with or without the dot.
        ending = f".{extension.removeprefix('.')}"
        files = [each for each in files if each.name.endswith(ending)]
    found = await search_files(files, Wanted(regex))
    return [
        CodeRange(scope.workspace.shown(each.path), each.start, each.end, each.content)
        for each in found
    ]


def _lines(path: Path) -> list[str]:
    try:
        text = regular_content(path, MAX_FILE_BYTES).decode(errors="replace")
    except OSError as error:
        raise DialectError(f"{path}: {error.strerror}", "use an existing file") from error
    except ValueError as error:
        raise DialectError(f"{path}: {error}", "use another file") from error
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _glob(pattern: str) -> re.Pattern[str]:
    # Each star multiplies the number of ways in which a name can fail to match.
    if pattern.count("*") > _MAX_STARS:
        raise DialectError(f"{pattern!r} has more than {_MAX_STARS} stars", "use fewer")
    parts = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile(
        "".join(parts.get(each) or re.escape(each) for each in _GLOB.findall(pattern))
    )


class ResolvedComment(Struct, frozen=True):
    """A comment and its locations."""

    id: str
    locations: list[CodeRange]
    icon: str | None
    comment: list[str]


class ResolvedAction(Struct, frozen=True):
    """A button and its message to the agent."""

    button: str
    tell_agent: str | None


class GitDiff(Function, frozen=True):
    """Return the changes in a range of commits: `A..B`, `A...B`, `A..`, or one revision.

    One revision is compared with the working tree, including untracked files, unless
    `exclude_unstaged` or `exclude_staged` excludes some changes.
    """

    RESULT: ClassVar[str] = "{files: FileChange[]}"

    range: str
    exclude_unstaged: bool = False
    exclude_staged: bool = False

    async def run(self, scope: Scope) -> Changes:
        """Compute the changes with git."""
        wanted = DiffRange(self.range, self.exclude_unstaged, self.exclude_staged)
        return await changes(scope.workspace.root, wanted)


class Comment(Function, frozen=True):
    """Comment on code; `location` is the result of any function that finds places."""

    RESULT: ClassVar[str] = "{id, locations: FileRange[], icon, comment: string[]}"

    location: Any
    icon: str | None = None
    content: list[str] = field(default_factory=list[str])

    async def run(self, scope: Scope) -> ResolvedComment:
        """Convert the location to ranges."""
        found = places(self.location)
        if not found:
            raise DialectError(
                "a comment needs at least one location", "use a location that exists"
            )
        return ResolvedComment(scope.new_id(), found, self.icon, self.content)


class Action(Function, frozen=True):
    """Show a button that sends a message to the agent."""

    RESULT: ClassVar[str] = "{button, tell_agent}"

    button: str
    tell_agent: str | None = None

    async def run(self, scope: Scope) -> ResolvedAction:
        del scope
        return ResolvedAction(self.button, self.tell_agent)


def places(value: Any) -> list[CodeRange]:
    """Ranges in a result: the use of a reference, the definition of a symbol.

    Nested lists are flattened; other values are left out.
    """
    if isinstance(value, list):
        return [found for item in cast("list[Any]", value) for found in places(item)]
    for kind in (SymbolRef, SymbolDefinition, CodeRange):
        try:
            return [_place(msgspec.convert(value, kind))]
        except msgspec.ValidationError:
            continue
    return []


def _place(found: SymbolRef | SymbolDefinition | CodeRange) -> CodeRange:
    match found:
        case SymbolRef():
            return found.referenced_at
        case SymbolDefinition():
            return found.defined_at
        case CodeRange():
            return found

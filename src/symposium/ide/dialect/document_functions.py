"""Functions whose results are parts of a document: diffs, comments, actions."""

from typing import Any, ClassVar, cast

import msgspec
from msgspec import Struct, field

from symposium.diffs.model import Changes
from symposium.diffs.ranges import DiffRange, changes
from symposium.ide.dialect.function import DialectError, Function, Scope
from symposium.ide.dialect.symbol_functions import SymbolRef
from symposium.ide.operations import FileRange, SymbolDef


class ResolvedComment(Struct, frozen=True):
    """A comment and where it belongs."""

    id: str
    locations: list[FileRange]
    icon: str | None
    comment: list[str]


class ResolvedAction(Struct, frozen=True):
    """A button, and what pressing it tells the agent."""

    button: str
    tell_agent: str | None


class GitDiff(Function, frozen=True):
    """What has changed in a range of commits: `A..B`, `A...B`, `A..`, or one revision.

    One revision is compared with the files as they are, those that git does not know included,
    unless `exclude_unstaged` or `exclude_staged` leaves something out.
    """

    RESULT: ClassVar[str] = "{files: FileChange[]}"

    range: str
    exclude_unstaged: bool = False
    exclude_staged: bool = False

    async def run(self, scope: Scope) -> Changes:
        """Ask git."""
        wanted = DiffRange(self.range, self.exclude_unstaged, self.exclude_staged)
        return await changes(scope.workspace.root, wanted)


class Comment(Function, frozen=True):
    """A comment on code; `location` is what any function that finds places has given."""

    RESULT: ClassVar[str] = "{id, locations: FileRange[], icon, comment: string[]}"

    location: Any
    icon: str | None = None
    content: list[str] = field(default_factory=list[str])

    async def run(self, scope: Scope) -> ResolvedComment:
        """Reduce the location to ranges."""
        found = places(self.location)
        if not found:
            raise DialectError("a comment needs at least one location", "name what is there")
        return ResolvedComment(scope.new_id(), found, self.icon, self.content)


class Action(Function, frozen=True):
    """A button that tells the agent something."""

    RESULT: ClassVar[str] = "{button, tell_agent}"

    button: str
    tell_agent: str | None = None

    async def run(self, scope: Scope) -> ResolvedAction:
        """Say it."""
        del scope
        return ResolvedAction(self.button, self.tell_agent)


def places(value: Any) -> list[FileRange]:
    """The ranges in a result: of a use where it is used, of a symbol where it is defined.

    One or a list of them, as deep as calls stand in lists; what is neither is left out.
    """
    if isinstance(value, list):
        return [found for item in cast("list[Any]", value) for found in places(item)]
    for kind in (SymbolRef, SymbolDef, FileRange):
        try:
            return [_place(msgspec.convert(value, kind))]
        except msgspec.ValidationError:
            continue
    return []


def _place(found: SymbolRef | SymbolDef | FileRange) -> FileRange:
    match found:
        case SymbolRef():
            return found.referenced_at
        case SymbolDef():
            return found.defined_at
        case FileRange():
            return found

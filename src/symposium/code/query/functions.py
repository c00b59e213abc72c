"""Base of query functions: IDE operations, workspace, errors, and scope."""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from localio.git import GitRunError, open_repository
from symposium.code.ide_operations import CodeRange, Diagnostic, Hover, SymbolDefinition
from symposium.config.git import stand_ins
from symposium.errors import SymposiumError


class IdeError(SymposiumError):
    """No editor or language server could answer."""


@dataclass(frozen=True, slots=True)
class At:
    """A position in a file: absolute path, line, and column from 1."""

    path: str
    line: int
    column: int


class IdePort(Protocol):
    """IDE operations of one workspace; each raises `IdeError` on failure."""

    async def symbols(self, name: str) -> Sequence[SymbolDefinition]:
        """Symbols with this or a similar name, in order."""
        ...

    async def references(self, symbol: SymbolDefinition) -> Sequence[CodeRange]:
        """References to a symbol, without its definition."""
        ...

    async def definitions(self, at: At) -> Sequence[CodeRange]:
        """Definitions of the symbol at a position."""
        ...

    async def hover(self, at: At) -> Hover:
        """Hover text at a position."""
        ...

    async def diagnostics(self, path: str) -> Sequence[Diagnostic]:
        """Diagnostics of a file."""
        ...


class NoIde:
    """IDE operations without an editor or server: each raises `IdeError`."""

    def __init__(self, reason: str = "no editor and no language server is available") -> None:
        self._reason = reason

    async def symbols(self, name: str) -> Sequence[SymbolDefinition]:
        """Raise `IdeError`."""
        raise self._refusal(name)

    async def references(self, symbol: SymbolDefinition) -> Sequence[CodeRange]:
        """Raise `IdeError`."""
        raise self._refusal(symbol.name)

    async def definitions(self, at: At) -> Sequence[CodeRange]:
        """Raise `IdeError`."""
        raise self._refusal(at.path)

    async def hover(self, at: At) -> Hover:
        """Raise `IdeError`."""
        raise self._refusal(at.path)

    async def diagnostics(self, path: str) -> Sequence[Diagnostic]:
        """Raise `IdeError`."""
        raise self._refusal(path)

    def _refusal(self, what: str) -> IdeError:
        hint = "use search(path, regex) or lines(path, start, end), which need no editor"
        return IdeError(f"{what}: {self._reason}", hint)


MAX_FILES: Final = 20_000
"""Maximum number of files searched in a folder."""

_MAX_ENTRIES: Final = 200_000


class OutsideError(SymposiumError):
    """A path is outside the workspace."""


@dataclass(frozen=True, slots=True)
class DialectWorkspace:
    """A folder, and additional readable folders.

    Attributes:
        root: base of relative paths; resolved.
        others: additional folders; resolved.
    """

    root: Path
    others: Sequence[Path] = ()

    def find(self, path: str) -> Path:
        """File or folder at a path; may not exist.

        Raises:
            OutsideError: it is outside the workspace, possibly through a link.
        """
        try:
            found = (self.root / path).resolve()
            found.exists()  # raises an error for a name that is too long
        except (OSError, ValueError, RuntimeError) as error:
            raise OutsideError(f"invalid file name {path[:200]!r}", "") from error
        if not any(found.is_relative_to(each) for each in (self.root, *self.others)):
            hint = f"use files in {self.root}"
            raise OutsideError(f"{path} is outside the workspace", hint)
        return found

    def shown(self, path: str | Path) -> str:
        """Path for display: relative to the root if inside."""
        try:
            return Path(self.root / path).resolve().relative_to(self.root).as_posix()
        except (OSError, ValueError, RuntimeError):
            return str(path)

    async def files(self, folder: Path) -> list[Path]:
        """Files of a folder, without hidden and git-ignored ones."""
        try:
            listed = await _known_to_git(folder)
        except GitRunError:
            listed = None
        return await asyncio.to_thread(_kept, folder, listed)


def workspace(base_uri: str) -> DialectWorkspace:
    """Workspace of a base URI, which is a path or a `file` URI.

    Raises:
        ExplainedError: it is not a folder.
    """
    path = unquote(urlsplit(base_uri).path) if base_uri.startswith("file:") else base_uri
    try:
        root = Path(path).resolve()
        is_folder = root.is_dir()
    except (OSError, ValueError, RuntimeError):
        root, is_folder = Path(path), False
    if not is_folder:
        raise SymposiumError(f"{path} is not a folder", "use the folder of the project")
    return DialectWorkspace(root)


async def _known_to_git(folder: Path) -> list[Path]:
    repository = await open_repository(folder, stand_ins())
    wanted = ["--cached", "--others", "--exclude-standard", "-z", "--", str(folder)]
    answer = await repository.ask("ls-files", *wanted)
    if answer.code:
        raise GitRunError(f"git ls-files: {answer.said}", "")
    names = answer.out.split(b"\0")[:-1]
    return [repository.top / os.fsdecode(name) for name in names]


def _kept(folder: Path, listed: list[Path] | None) -> list[Path]:
    found = _walk(folder) if listed is None else sorted(set(listed))
    kept: list[Path] = []
    for path in found:
        inside = path.relative_to(folder).parts if path.is_relative_to(folder) else (".",)
        if any(part.startswith(".") for part in inside):
            continue
        # Links may point anywhere.
        if path.is_symlink() or not path.is_file():
            continue
        if path.parent.resolve().is_relative_to(folder):
            kept.append(path)
        if len(kept) == MAX_FILES:
            break
    return kept


def _walk(folder: Path) -> Iterator[Path]:
    seen = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            seen += 1
            if seen > _MAX_ENTRIES:
                return
            yield Path(place, name)


class DialectError(SymposiumError):
    """A program could not be evaluated."""


class AmbiguityError(DialectError):
    """An expression has several meanings, and more specific ones exist.

    Attributes:
        input: the expression.
        replacements: more specific expressions.
    """

    def __init__(self, text: str, replacements: Sequence[str]) -> None:
        self.input = text
        self.replacements = list(replacements)
        hint = f"write one of: {', '.join(self.replacements)}" if self.replacements else ""
        super().__init__(f"{text} matches {len(self.replacements)} things", hint)


class Hint(Struct, frozen=True):
    """Advice for the program's author, next to the result.

    Attributes:
        input: the expression in question.
        message: the advice.
        replacements: alternative expressions.
    """

    input: str
    message: str
    replacements: list[str]


@dataclass(frozen=True, slots=True)
class Scope:
    """Context of a function.

    Attributes:
        workspace: files.
        ide: IDE operations.
        new_id: makes a unique id.
        hints: hints so far.
    """

    workspace: DialectWorkspace
    ide: IdePort
    new_id: Callable[[], str]
    hints: list[Hint] = field(default_factory=list[Hint])


class Function(Struct, frozen=True):
    """A call with its arguments; its name is the class name with a lowercase first letter."""

    ALIASES: ClassVar[Sequence[str]] = ()
    RESULT: ClassVar[str] = "any"

    async def run(self, scope: Scope) -> Any:
        """Result as JSON or as a value that converts to JSON.

        Raises:
            ExplainedError: the call failed.
        """
        raise NotImplementedError


def name_of(function: type[Function]) -> str:
    """Name of a function in programs."""
    return function.__name__[0].lower() + function.__name__[1:]


def by_name(functions: Sequence[type[Function]]) -> Mapping[str, type[Function]]:
    """Functions by each of their names, in lowercase."""
    return {
        name.lower(): function
        for function in functions
        for name in (name_of(function), *function.ALIASES)
    }

"""What a function of the query language is: its base, the IDE port, the workspace."""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from localio.git import GitRunError, open_repository
from symposium.code.operations import CodeRange, Diagnostic, Hover, SymbolDefinition
from symposium.config.git import stand_ins
from symposium.errors import SymposiumError


class IdeError(SymposiumError):
    """Nobody could answer a question about the code."""


@dataclass(frozen=True, slots=True)
class At:
    """A character of a file: an absolute path, line and column from 1."""

    path: str
    line: int
    column: int


class IdePort(Protocol):
    """Answers questions about the code of one workspace; each raises `IdeError` if it cannot."""

    async def symbols(self, name: str) -> Sequence[SymbolDefinition]:
        """Symbols that have this name, or one like it; the order is kept."""
        ...

    async def references(self, symbol: SymbolDefinition) -> Sequence[CodeRange]:
        """Where a symbol is used, its definition left out."""
        ...

    async def definitions(self, at: At) -> Sequence[CodeRange]:
        """Where that which stands there is defined."""
        ...

    async def hover(self, at: At) -> Hover:
        """What is known of what stands there."""
        ...

    async def diagnostics(self, path: str) -> Sequence[Diagnostic]:
        """What is wrong in a file."""
        ...


class NoIde:
    """Where nobody can be asked."""

    def __init__(self, reason: str = "no editor and no language server answers here") -> None:
        self._reason = reason

    async def symbols(self, name: str) -> Sequence[SymbolDefinition]:
        """Refuse."""
        raise self._refusal(name)

    async def references(self, symbol: SymbolDefinition) -> Sequence[CodeRange]:
        """Refuse."""
        raise self._refusal(symbol.name)

    async def definitions(self, at: At) -> Sequence[CodeRange]:
        """Refuse."""
        raise self._refusal(at.path)

    async def hover(self, at: At) -> Hover:
        """Refuse."""
        raise self._refusal(at.path)

    async def diagnostics(self, path: str) -> Sequence[Diagnostic]:
        """Refuse."""
        raise self._refusal(path)

    def _refusal(self, what: str) -> IdeError:
        hint = "use search(path, regex) or lines(path, start, end), which need none"
        return IdeError(f"{what}: {self._reason}", hint)


MAX_FILES: Final = 20_000
"""Files of a folder that are looked through."""

_MAX_ENTRIES: Final = 200_000


class OutsideError(SymposiumError):
    """A path leads out of the workspace."""


@dataclass(frozen=True, slots=True)
class DialectWorkspace:
    """A folder, and others that may be seen too.

    Attributes:
        root: what relative paths are relative to; resolved.
        others: folders outside it whose files may be named as well; resolved.
    """

    root: Path
    others: Sequence[Path] = ()

    def find(self, path: str) -> Path:
        """The file or folder that a path means; it need not exist.

        Raises:
            OutsideError: it is outside the workspace, be it through a link.
        """
        try:
            found = (self.root / path).resolve()
            found.exists()  # a name may be too long to be looked for
        except (OSError, ValueError, RuntimeError) as error:
            raise OutsideError(f"no file can be called {path[:200]!r}", "") from error
        if not any(found.is_relative_to(each) for each in (self.root, *self.others)):
            hint = f"name files in {self.root}"
            raise OutsideError(f"{path} is outside the workspace", hint)
        return found

    def shown(self, path: str | Path) -> str:
        """A path as people read it: relative to the root if it is inside."""
        try:
            return Path(self.root / path).resolve().relative_to(self.root).as_posix()
        except (OSError, ValueError, RuntimeError):
            return str(path)

    async def files(self, folder: Path) -> list[Path]:
        """The files of a folder that are not hidden and that git does not ignore."""
        try:
            listed = await _known_to_git(folder)
        except GitRunError:
            listed = None
        return await asyncio.to_thread(_kept, folder, listed)


def workspace(base_uri: str) -> DialectWorkspace:
    """The workspace of a base URI: a path, or a `file` URI.

    Raises:
        ExplainedError: it is no folder.
    """
    path = unquote(urlsplit(base_uri).path) if base_uri.startswith("file:") else base_uri
    try:
        root = Path(path).resolve()
        is_folder = root.is_dir()
    except (OSError, ValueError, RuntimeError):
        root, is_folder = Path(path), False
    if not is_folder:
        raise SymposiumError(f"there is no folder {path}", "give the folder of the project")
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
        # A link may lead anywhere.
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
    """A program cannot be carried out."""


class AmbiguityError(DialectError):
    """Something names several things, and something else would name one of them.

    Attributes:
        input: what was written.
        replacements: more specific expressions that can stand in its place.
    """

    def __init__(self, text: str, replacements: Sequence[str]) -> None:
        self.input = text
        self.replacements = list(replacements)
        hint = f"write one of: {', '.join(self.replacements)}" if self.replacements else ""
        super().__init__(f"{text} names {len(self.replacements)} things", hint)


class Hint(Struct, frozen=True):
    """What whoever wrote the program should know; stands beside the result.

    Attributes:
        input: the expression that it is about.
        message: what there is to know.
        replacements: expressions that can stand in its place.
    """

    input: str
    message: str
    replacements: list[str]


@dataclass(frozen=True, slots=True)
class Scope:
    """What a function may ask.

    Attributes:
        workspace: the files.
        ide: who knows the code.
        new_id: makes an id for what has none.
        hints: what has been noted so far.
    """

    workspace: DialectWorkspace
    ide: IdePort
    new_id: Callable[[], str]
    hints: list[Hint] = field(default_factory=list[Hint])


class Function(Struct, frozen=True):
    """A call with its arguments; a subclass is called as its class, with a small first letter."""

    ALIASES: ClassVar[Sequence[str]] = ()
    RESULT: ClassVar[str] = "any"

    async def run(self, scope: Scope) -> Any:
        """The result, as JSON or as something that can be told as JSON.

        Raises:
            ExplainedError: there is none.
        """
        raise NotImplementedError


def name_of(function: type[Function]) -> str:
    """How a function is called."""
    return function.__name__[0].lower() + function.__name__[1:]


def by_name(functions: Sequence[type[Function]]) -> Mapping[str, type[Function]]:
    """The functions by each of their names, in small letters."""
    return {
        name.lower(): function
        for function in functions
        for name in (name_of(function), *function.ALIASES)
    }

"""Query functions on symbols, answered by an editor or by language servers."""

import json
import re
from collections.abc import Sequence
from typing import Any, ClassVar, Final, cast

import msgspec
from msgspec import Struct

from symposium.code.ide_operations import CodeRange, Diagnostic, SymbolDefinition
from symposium.code.query.functions import AmbiguityError, At, DialectError, Function, Hint, Scope

MAX_SYMBOLS: Final = 100
"""Maximum number of symbols per function."""

_CALLED: Final = re.compile(r"\s*(?:!|::<[^>]{0,100}>|<[^>]{0,100}>|\[[^\]]{0,100}\])?\s*\(")


class SymbolRef(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A reference to a symbol, with its definition."""

    name: str
    defined_at: CodeRange
    referenced_at: CodeRange
    kind: str | None = None


class SymbolInfo(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A symbol with its documentation as Markdown."""

    name: str
    defined_at: CodeRange
    kind: str | None = None
    info: str | None = None


class FindDefinitions(Function, frozen=True):
    """Find definitions of symbols.

    `of` is a name, a symbol from another function, or a list of these; `within` limits the result
    to a file or folder. An unknown name returns an empty list.
    """

    ALIASES: ClassVar[Sequence[str]] = ("findDefinition",)
    RESULT: ClassVar[str] = "SymbolDefinition[]"

    of: Any
    within: str | None = None

    async def run(self, scope: Scope) -> Any:
        """Look up the symbols."""
        return await definitions(scope, self.of, self.within)


class FindReferences(Function, frozen=True):
    """Find references to symbols; `to` and `within` as in `findDefinitions`."""

    ALIASES: ClassVar[Sequence[str]] = ("findReference",)
    RESULT: ClassVar[str] = "SymbolRef[]"

    to: Any
    within: str | None = None

    async def run(self, scope: Scope) -> Any:
        """Look up the references of each definition."""
        return await _references(scope, await definitions(scope, self.to, self.within))


class Callers(Function, frozen=True):
    """Find calls of symbols: references followed by an opening parenthesis."""

    RESULT: ClassVar[str] = "SymbolRef[]"

    of: Any
    within: str | None = None

    async def run(self, scope: Scope) -> Any:
        """Look up the references and select the calls."""
        found = await _references(scope, await definitions(scope, self.of, self.within))
        return [each for each in found if _is_call(each.referenced_at)]


class GetSymbolInfo(Function, frozen=True):
    """Return type and documentation of symbols; `of` and `within` as in `findDefinitions`."""

    ALIASES: ClassVar[Sequence[str]] = ("symbolInfo",)
    RESULT: ClassVar[str] = "SymbolInfo[]"

    of: Any
    within: str | None = None

    async def run(self, scope: Scope) -> Any:
        """Look up the symbols and their hover texts."""
        symbols: list[SymbolInfo] = []
        for symbol in await definitions(scope, self.of, self.within):
            where = symbol.defined_at
            path = str(scope.workspace.root / where.path)
            known = await scope.ide.hover(At(path, where.start.line, where.start.column))
            symbols.append(SymbolInfo(symbol.name, where, symbol.kind, known.text))
        return symbols


class DefinitionAt(Function, frozen=True):
    """Find the definition of the symbol at a line and column (both from 1) of a file."""

    RESULT: ClassVar[str] = "CodeRange[]"

    path: str
    line: int
    column: int

    async def run(self, scope: Scope) -> Any:
        """Look up the definitions with the IDE or a language server."""
        at = At(str(scope.workspace.find(self.path)), self.line, self.column)
        return [_shown(scope, each) for each in await scope.ide.definitions(at)]


class Diagnostics(Function, frozen=True):
    """Return the errors and warnings of a file."""

    RESULT: ClassVar[str] = "Diagnostic[]"

    path: str

    async def run(self, scope: Scope) -> Any:
        """Look up the diagnostics with the IDE or a language server."""
        found = await scope.ide.diagnostics(str(scope.workspace.find(self.path)))
        return [
            Diagnostic(_shown(scope, each.range), each.severity, each.message, each.code)
            for each in found
        ]


async def definitions(scope: Scope, of: Any, within: str | None) -> list[SymbolDefinition]:
    """Symbols for a name, a symbol, or a list of these.

    Raises:
        DialectError: the value is of another type.
        IdeError: no editor or server could answer.
    """
    match of:
        case str():
            found = await _named(scope, of, within)
        case dict():
            try:
                found = [msgspec.convert(of, SymbolDefinition)]
            except msgspec.ValidationError as error:
                raise DialectError(f"not a symbol: {error}", "") from error
        case list():
            items = cast("list[Any]", of)
            found = [each for item in items for each in await definitions(scope, item, within)]
        case _:
            raise DialectError(f"not a symbol: {of!r}", "use its name")
    return found[:MAX_SYMBOLS]


async def _named(scope: Scope, name: str, within: str | None) -> list[SymbolDefinition]:
    listed = [
        SymbolDefinition(each.name, _shown(scope, each.defined_at), each.kind)
        for each in await scope.ide.symbols(name)
    ]
    # Editors also return symbols with similar names.
    found = [each for each in listed if each.name in {name, f"{name}()"}]
    if within is not None:
        folder = scope.workspace.find(within)
        root = scope.workspace.root
        found = [each for each in found if (root / each.defined_at.path).is_relative_to(folder)]
    if not found and listed:
        near = list(dict.fromkeys(each.name for each in listed))[:5]
        replacements = [f"findDefinition({json.dumps(each)})" for each in near]
        scope.hints.append(Hint(name, f"no symbol has exactly the name {name!r}", replacements))
    if len(found) > 1:
        scope.hints.append(_ambiguity(name, found))
    return found


def _ambiguity(name: str, found: Sequence[SymbolDefinition]) -> Hint:
    files = dict.fromkeys(each.defined_at.path for each in found)
    quoted = json.dumps(name)
    by_file = [f"findDefinition({quoted}, {json.dumps(path)})" for path in files]
    by_line = [
        f"lines({json.dumps(at.path)}, {at.start.line}, {at.start.line})"
        for at in (each.defined_at for each in found)
    ]
    is_told_apart = len(by_file) == len(found)
    error = AmbiguityError(f"findDefinition({quoted})", by_file if is_told_apart else by_line)
    return Hint(error.input, error.message, error.replacements)


async def _references(scope: Scope, symbols: Sequence[SymbolDefinition]) -> list[SymbolRef]:
    return [
        SymbolRef(symbol.name, symbol.defined_at, _shown(scope, each), symbol.kind)
        for symbol in symbols
        for each in await scope.ide.references(_absolute(scope, symbol))
    ]


def _absolute(scope: Scope, symbol: SymbolDefinition) -> SymbolDefinition:
    where = symbol.defined_at
    path = str(scope.workspace.root / where.path)
    moved = CodeRange(path, where.start, where.end, where.content)
    return SymbolDefinition(symbol.name, moved, symbol.kind)


def _shown(scope: Scope, where: CodeRange) -> CodeRange:
    path = scope.workspace.shown(where.path)
    return CodeRange(path, where.start, where.end, where.content)


def _is_call(where: CodeRange) -> bool:
    after = (where.content or "")[where.end.column - 1 :]
    return _CALLED.match(after) is not None

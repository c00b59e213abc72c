"""The tools on code and on the sources of packages."""

import json
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct, to_builtins

from symposium.bus.errors import BusError
from symposium.bus.messages.editor import GetSelection, Selection
from symposium.code.ide_operations import CodeRange, SymbolDefinition
from symposium.code.packages.answers import (
    Named,
    crate_answer,
    fetch_answer,
    read_answer,
    search_answer,
)
from symposium.code.query.evaluator import run
from symposium.code.query.functions import workspace
from symposium.errors import SymposiumError
from symposium.mcp_server.tool import Hints, ToolAnswer, ToolInvocation, tool

SELECTION_TIMEOUT = 5.0
"""Seconds to wait for an editor."""


class GetSelectionParams(Struct, forbid_unknown_fields=True):
    pass


@tool("code", Hints("Get the selection", reads_only=True, repeats_well=True), result=Selection)
async def get_selection(params: GetSelectionParams, call: ToolInvocation) -> ToolAnswer:
    """Get the text that the user has selected in the editor.

    Use it when the user says "this" or "here". It returns the text with its file, lines, and
    columns, counted from 1. If no editor is attached or nothing is selected, the text is null and
    a message gives the reason; then ask the user.
    """
    del params
    try:
        selection = await call.workplace.bus.request(GetSelection(), timeout=SELECTION_TIMEOUT)
    except BusError as error:
        reason = f"no editor answered ({error.message}); ask the user which place they mean"
        selection = Selection(selected_text=None, message=reason)
    return ToolAnswer(_text(to_builtins(selection)), selection)


def _text(selection: dict[str, Any]) -> str:
    text = selection.get("selectedText")
    if text is None:
        return str(selection.get("message") or "nothing is selected")
    file, first, last = (selection.get(key) for key in ("filePath", "startLine", "endLine"))
    if file is None:
        return str(text)
    lines = "" if first is None else f":{first}" if last is None else f":{first}-{last}"
    return f"{file}{lines}\n{text}"


class IdeOperationParams(Struct, forbid_unknown_fields=True):
    program: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=100_000,
            description="One call, such as findDefinitions(`Session`), findReferences(`Session`), "
            "search(`src`, `retry.*timeout`, `.py`), lines(`src/app.py`, 40, 60), or "
            "gitDiff(`HEAD~2..HEAD`). An argument can be another call. Paths are relative to the "
            "root of the checkout.",
        ),
    ]


class Evaluated(Struct):
    """The value of an expression, and suggestions for an ambiguous or unknown name."""

    value: Any
    hints: list[Any] = []


@tool("code", Hints("IDE operation", reads_only=True, repeats_well=True), result=Evaluated)
async def ide_operation(params: IdeOperationParams, call: ToolInvocation) -> ToolAnswer:
    """Find definitions, references, text, lines, or diffs with one expression.

    Use it to look something up before you make a claim about the code, and to test a location for
    a walkthrough. It asks an attached editor first, then a language server. It returns the value
    as JSON; if a name is ambiguous or unknown, hints list the alternatives.
    """
    workplace = call.workplace
    root = workspace(str(workplace.root))
    found = await run(params.program, workplace.ide, root)
    hints = [to_builtins(hint) for hint in found.hints]
    shown = {"value": found.value, "hints": hints} if hints else found.value
    return ToolAnswer(
        json.dumps(shown, indent=2, ensure_ascii=False), Evaluated(found.value, hints)
    )


MAX_LINES: Final = 200
"""Maximum places in the text; the structured result has all."""


def as_lines(rows: Sequence[tuple[str, CodeRange]], what: str) -> str:
    """One line for each place: label, path, line, column, and the line of code."""
    if not rows:
        return f"No {what} was found."
    lines = [_line(label, place) for label, place in rows[:MAX_LINES]]
    if len(rows) > MAX_LINES:
        lines.append(f"(and {len(rows) - MAX_LINES} more)")
    return "\n".join([f"{len(rows)} {what}(s):", *lines])


def _line(label: str, place: CodeRange) -> str:
    code = f"  {place.content.strip()}" if place.content else ""
    where = f"{place.path}:{place.start.line}:{place.start.column}"
    return " ".join(filter(None, [label, where])) + code


class FindAllReferencesParams(Struct, forbid_unknown_fields=True):
    name: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=500,
            description="Name of the symbol, exactly as in the code and without a module prefix.",
        ),
    ]


class References(Struct):
    """The uses of a symbol, without its definitions."""

    references: list[CodeRange]
    definitions: int


@tool("code", Hints("Find all references", reads_only=True, repeats_well=True), result=References)
async def find_all_references(params: FindAllReferencesParams, call: ToolInvocation) -> ToolAnswer:
    """Find every use of a symbol by its name.

    Use it before you rename or change a symbol. It returns the places with path, line, and column,
    counted from 1, for all definitions of that name. The definitions are not included.
    """
    ide = call.workplace.ide
    symbols = [each for each in await ide.symbols(params.name) if each.name == params.name]
    found: list[CodeRange] = []
    for symbol in symbols:
        for each in await ide.references(symbol):
            if each not in found:
                found.append(each)
    rows = [("", each) for each in found]
    head = f"{len(symbols)} definition(s) of {params.name!r}. "
    return ToolAnswer(head + as_lines(rows, "use"), References(found, len(symbols)))


class ResolveSymbolByNameParams(Struct, forbid_unknown_fields=True):
    name: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=500,
            description="Name of the symbol, exactly as in the code and without a module prefix.",
        ),
    ]


class FoundSymbol(Struct, rename="camel"):
    """Symbols with exactly that name, else symbols with a similar name."""

    symbols: list[SymbolDefinition]
    is_exact: bool


@tool("code", Hints("Resolve a symbol", reads_only=True, repeats_well=True), result=FoundSymbol)
async def resolve_symbol_by_name(
    params: ResolveSymbolByNameParams, call: ToolInvocation
) -> ToolAnswer:
    """Find the definition of a symbol by its name.

    Use it before you make a claim about a function, class, or constant. It asks an attached editor
    first, then a language server. It returns the kind, path, line, and column of each match; lines
    and columns count from 1. Without an exact match, it returns symbols with similar names.
    """
    found = list(await call.workplace.ide.symbols(params.name))
    exact = [symbol for symbol in found if symbol.name == params.name]
    shown = exact or found
    head = "" if exact else f"No symbol is named exactly {params.name!r}. "
    rows = [(f"{each.kind or 'Symbol'} {each.name}", each.defined_at) for each in shown]
    return ToolAnswer(head + as_lines(rows, "definition"), FoundSymbol(shown, bool(exact)))


class PatternAndPathError(SymposiumError):
    """A call gave both `pattern` and `path`."""


class GetPackageSourceParams(Struct, forbid_unknown_fields=True):
    ecosystem: Annotated[Literal["python", "npm", "rust"], Meta(description="Package ecosystem.")]
    name: Annotated[
        str, Meta(min_length=1, max_length=300, description="Package name, as in its registry.")
    ]
    version: Annotated[
        str | None,
        Meta(
            description="Version range, such as >=1.2. Default: the version this project uses, "
            "else the latest."
        ),
    ] = None
    pattern: Annotated[
        str | None,
        Meta(
            description="Regular expression to search for in the package's files. Default: no "
            "search. Do not combine it with path."
        ),
    ] = None
    path: Annotated[
        str | None,
        Meta(
            description="File to read, relative to the package's root. Default: read no file. Do "
            "not combine it with pattern."
        ),
    ] = None
    start_line: Annotated[
        int, Meta(ge=1, description="First line to read of path, counted from 1. Default: 1.")
    ] = 1
    end_line: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Last line to read of path, included. Default: the end of the file."),
    ] = None


@tool("packages", Hints("Package source", reads_only=True, repeats_well=True, reaches_out=True))
async def get_package_source(params: GetPackageSourceParams, call: ToolInvocation) -> ToolAnswer:
    """Find, search, or read the source of a Python, npm, or Rust dependency.

    Use it instead of guessing an API from memory. By default it uses the version that this project
    depends on. It reads the copy on this machine, or downloads it. It returns where the source is;
    with `pattern` also the matches, with `path` the lines of that file.
    """
    root = call.workplace.root
    named: Named = (params.ecosystem, params.name, params.version)
    data: dict[str, Any]
    match params.pattern, params.path:
        case None, None:
            data = await fetch_answer(root, named, None)
        case str(pattern), None:
            data = await search_answer(root, named, pattern)
        case None, str(path):
            data = await read_answer(root, named, path, (params.start_line, params.end_line))
        case _:
            raise PatternAndPathError(
                "`pattern` and `path` cannot be combined", "search first, then read"
            )
    return ToolAnswer(json.dumps(data, indent=2, ensure_ascii=False), data)


class GetRustCrateSourceParams(Struct, forbid_unknown_fields=True):
    crate_name: Annotated[
        str, Meta(min_length=1, max_length=200, description="Name of the crate, as in Cargo.toml.")
    ]
    version: Annotated[
        str | None,
        Meta(
            description="Version range, such as ^1.2. Default: the version this project uses, "
            "else the latest."
        ),
    ] = None
    pattern: Annotated[
        str | None,
        Meta(
            description="Regular expression to search for in the crate's .rs files. Default: no "
            "search."
        ),
    ] = None


class Crate(Struct, omit_defaults=True):
    """Location of a crate's source; with a pattern also its matches, those in examples first."""

    crate_name: str
    version: str
    checkout_path: str
    message: str
    example_matches: list[Any] | None = None
    other_matches: list[Any] | None = None
    is_cut: bool = False


@tool(
    "packages",
    Hints("Rust crate source", reads_only=True, repeats_well=True, reaches_out=True),
    result=Crate,
)
async def get_rust_crate_source(
    params: GetRustCrateSourceParams, call: ToolInvocation
) -> ToolAnswer:
    """Find the source of a Rust crate, and search it.

    Use it instead of guessing a crate's API from memory. By default it uses the version that this
    project depends on. It reads the copy on this machine, or downloads it. It returns where the
    source is; with `pattern` also the matches, separately for examples and for other files.
    """
    root = call.workplace.root
    data = await crate_answer(root, params.crate_name, params.version, params.pattern)
    return ToolAnswer(json.dumps(data, indent=2, ensure_ascii=False), data)

"""The tool that finds the definition of a symbol."""

from typing import Annotated

from msgspec import Meta, Struct

from symposium.code.operations import SymbolDef
from symposium.mcp_server.places import as_lines
from symposium.mcp_server.tool import Answer, Call, Hints, tool


class ResolveSymbolByNameParams(Struct, forbid_unknown_fields=True):
    name: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=500,
            description="Name of the symbol, exactly as in the code and without a module prefix.",
        ),
    ]


class Found(Struct, rename="camel"):
    """Symbols with exactly that name, else symbols with a similar name."""

    symbols: list[SymbolDef]
    is_exact: bool


@tool("code", Hints("Resolve a symbol", reads_only=True, repeats_well=True), result=Found)
async def resolve_symbol_by_name(params: ResolveSymbolByNameParams, call: Call) -> Answer:
    """Find the definition of a symbol by its name.

    Use it before you make a claim about a function, class, or constant. It asks an attached editor
    first, then a language server. It returns kind, path, line, and column, counted from 1, of each
    match; without an exact match, symbols with similar names.
    """
    found = list(await call.workplace.ide.symbols(params.name))
    exact = [symbol for symbol in found if symbol.name == params.name]
    shown = exact or found
    head = "" if exact else f"No symbol is named exactly {params.name!r}. "
    rows = [(f"{each.kind or 'Symbol'} {each.name}", each.defined_at) for each in shown]
    return Answer(head + as_lines(rows, "definition"), Found(shown, bool(exact)))

"""Where is this defined?"""

from typing import Annotated

from msgspec import Meta, Struct

from symposium.ide.operations import SymbolDef
from symposium.mcp_server.places import as_lines
from symposium.mcp_server.tool import Answer, Call, Hints, tool


class ResolveSymbolByNameParams(Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=500, description="As it is in the code.")]


class Found(Struct, rename="camel"):
    """Symbols of exactly that name; without any, those that are like it."""

    symbols: list[SymbolDef]
    is_exact: bool


@tool("code", Hints("Resolve a symbol", reads_only=True, repeats_well=True), result=Found)
async def resolve_symbol_by_name(params: ResolveSymbolByNameParams, call: Call) -> Answer:
    """Find where a symbol of that name is defined.

    An attached editor answers first, else a language server. Lines and columns count from 1.
    """
    found = list(await call.workplace.ide.symbols(params.name))
    exact = [symbol for symbol in found if symbol.name == params.name]
    shown = exact or found
    head = "" if exact else f"Nothing is called exactly {params.name!r}. "
    rows = [(f"{each.kind or 'Symbol'} {each.name}", each.defined_at) for each in shown]
    return Answer(head + as_lines(rows, "definition"), Found(shown, bool(exact)))

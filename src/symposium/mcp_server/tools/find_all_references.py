"""The tool that finds the uses of a symbol."""

from typing import Annotated

from msgspec import Meta, Struct

from symposium.code.operations import FileRange
from symposium.mcp_server.places import as_lines
from symposium.mcp_server.tool import Answer, Call, Hints, tool


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

    references: list[FileRange]
    definitions: int


@tool("code", Hints("Find all references", reads_only=True, repeats_well=True), result=References)
async def find_all_references(params: FindAllReferencesParams, call: Call) -> Answer:
    """Find every use of a symbol by its name.

    Use it before you rename or change a symbol. It returns the places with path, line, and column,
    counted from 1, for all definitions of that name. The definitions are not included.
    """
    ide = call.workplace.ide
    symbols = [each for each in await ide.symbols(params.name) if each.name == params.name]
    found: list[FileRange] = []
    for symbol in symbols:
        for each in await ide.references(symbol):
            if each not in found:
                found.append(each)
    rows = [("", each) for each in found]
    head = f"{len(symbols)} definition(s) of {params.name!r}. "
    return Answer(head + as_lines(rows, "use"), References(found, len(symbols)))

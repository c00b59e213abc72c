"""`find_all_references`: where is this symbol used?"""

from typing import ClassVar, Self

from msgspec import Raw, Struct

from symposium.bus.roles import AGENTS, PEOPLE, Role
from symposium.bus.shapes import FileRange, SymbolDef
from symposium.bus.vocabulary import About, PayloadError, Request, Target, read_as


class _WrittenReferences(Struct):
    symbol: SymbolDef | str | None = None
    symbol_name: str | None = None
    name: str | None = None


class FindAllReferences(Request[list[FileRange]], frozen=True, kw_only=True):
    """Ask for the uses of a symbol.

    Attributes:
        symbol: its definition, or its name where that is all one knows; a name is also read as
            `symbol_name` and `name`.
    """

    about: ClassVar = About(
        "find_all_references",
        sent_by=AGENTS | PEOPLE | {Role.LEGACY},
        target=Target.WINDOW,
        budget=30.0,
        is_idempotent=True,
        source="bus §1.10; §1.11, row 2",
    )
    symbol: SymbolDef | str

    @classmethod
    def read(cls, payload: Raw) -> Self:
        """Take the seed's spelling too."""
        written = read_as(_WrittenReferences, payload)
        symbol = written.symbol or written.symbol_name or written.name
        if symbol is None:
            raise PayloadError("Object missing required field `symbol`")
        return cls(symbol=symbol)

"""`resolve_symbol_by_name`: where is this symbol defined?"""

from typing import ClassVar, Self

from msgspec import Raw, Struct

from symposium.bus.roles import AGENTS, PEOPLE, Role
from symposium.bus.shapes import SymbolDef
from symposium.bus.vocabulary import About, PayloadError, Request, Target, read_as


class _WrittenSymbol(Struct):
    name: str | None = None
    symbol_name: str | None = None
    symbol: SymbolDef | str | None = None


class ResolveSymbolByName(Request[list[SymbolDef]], frozen=True, kw_only=True):
    """Ask for the definitions of a symbol.

    Attributes:
        name: what it is called; also read as `symbol_name` and `symbol`.
    """

    about: ClassVar = About(
        "resolve_symbol_by_name",
        sent_by=AGENTS | PEOPLE | {Role.LEGACY},
        target=Target.WINDOW,
        budget=30.0,
        is_idempotent=True,
        source="bus §1.10; §1.11, row 2",
    )
    name: str

    @classmethod
    def read(cls, payload: Raw) -> Self:
        """Take the seed's spelling too."""
        written = read_as(_WrittenSymbol, payload)
        symbol = written.symbol.name if isinstance(written.symbol, SymbolDef) else written.symbol
        name = written.name or written.symbol_name or symbol
        if name is None:
            raise PayloadError("Object missing required field `name`")
        return cls(name=name)

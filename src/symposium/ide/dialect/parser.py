"""Reads Dialect programs: everything that the reference reads, and all of JSON's atoms.

```
expr  := ident "(" [expr (","? expr)*] ","? ")" | string | number | true | false | null
       | "[" [expr (","? expr)*] ","? "]" | "{" [key ":" expr (","? key ":" expr)*] ","? "}"
key   := string | ident        ident := letter or "_", then letters, digits and "_"
```
Source: bus-mcp-taskspaces §5.1.
"""

from typing import Final

from symposium.ide.dialect.syntax import Array, Atom, Call, Expression, Fault, Literal, Object
from symposium.ide.dialect.tokens import Kind, Tokens

MOST_CHARACTERS: Final = 256 * 1024
"""Characters of the longest program."""

DEEPEST: Final = 64
"""How many expressions may stand inside each other."""

_WORDS: Final[dict[str, Atom]] = {"true": True, "false": False, "null": None, "undefined": None}


def parse(text: str) -> Expression:
    """The expression that a program is.

    Raises:
        DialectSyntaxError: it is none.
    """
    return _Parser(text[: MOST_CHARACTERS + 1]).program()


class _Parser:
    """One program; every method takes what it is called after."""

    def __init__(self, text: str) -> None:
        self._tokens = Tokens(text)
        self._depth = 0

    def program(self) -> Expression:
        if len(self._tokens.text) > MOST_CHARACTERS:
            raise self._tokens.wrong(Fault.TOO_LONG, MOST_CHARACTERS)
        expression = self._expression()
        if self._tokens.current.kind is not Kind.END:
            raise self._unexpected()
        return expression

    def _expression(self) -> Expression:
        token = self._tokens.current
        match token.kind:
            case Kind.STRING | Kind.NUMBER:
                return Literal(self._tokens.advance().value)
            case Kind.IDENT:
                self._tokens.advance()
                return self._call(str(token.value), token.at)
            case _ if self._depth == DEEPEST:
                raise self._tokens.wrong(Fault.TOO_DEEP, token.at)
            case _ if self._tokens.skip("["):
                return Array(self._until("]"))
            case _ if self._tokens.skip("{"):
                return self._object(token.at)
            case _:
                raise self._unexpected()

    def _call(self, name: str, at: int) -> Expression:
        if self._tokens.is_mark("("):
            if self._depth == DEEPEST:
                raise self._tokens.wrong(Fault.TOO_DEEP, at)
            self._tokens.advance()
            return Call(name, self._until(")"))
        if name in _WORDS:
            return Literal(_WORDS[name])
        raise self._tokens.wrong(Fault.UNEXPECTED_IDENT, at)

    def _until(self, mark: str) -> list[Expression]:
        items: list[Expression] = []
        self._depth += 1
        while not self._tokens.skip(mark):
            items.append(self._expression())
            self._tokens.skip(",")
        self._depth -= 1
        return items

    def _object(self, begin: int) -> Object:
        members: dict[str, Expression] = {}
        self._depth += 1
        while not self._tokens.skip("}"):
            key = self._tokens.current
            if key.kind is Kind.END:
                at = key.at if members else begin + 1
                raise self._tokens.wrong(Fault.EXPECTED_CLOSE_BRACE, at)
            if key.kind not in {Kind.STRING, Kind.IDENT}:
                raise self._tokens.wrong(Fault.EXPECTED_STRING_OR_IDENT, key.at)
            self._tokens.advance()
            if not self._tokens.skip(":"):
                raise self._tokens.wrong(Fault.EXPECTED_COLON, self._tokens.current.at)
            members[str(key.value)] = self._expression()
            self._tokens.skip(",")
        self._depth -= 1
        return Object(members)

    def _unexpected(self) -> Exception:
        token = self._tokens.current
        if token.kind is Kind.END:
            return self._tokens.wrong(Fault.UNEXPECTED_EOF, token.at)
        return self._tokens.wrong(Fault.UNEXPECTED_TOKEN, token.at, repr(token.value))

"""How blocks are put in words, wherever they are shown."""

from collections.abc import Sequence
from typing import Final

from localio.errors import ExplainedError
from symposium.ide.dialect.parser import parse
from symposium.ide.dialect.syntax import Call, Expression, Literal
from symposium.ide.operations import FileRange

_ICONS: Final = {
    "info": "ℹ️",  # noqa: RUF001 - the sign for information
    "lightbulb": "💡",
    "gear": "⚙️",
    "warning": "⚠️",
    "question": "❓",
}


def icon_of(name: str | None) -> str:
    """The sign for an icon; a speech balloon for what has none."""
    return _ICONS.get(name or "", "💬")


def locations_text(locations: Sequence[FileRange]) -> str:
    """Where a comment belongs: one place, how many, or none."""
    match list(locations):
        case []:
            return "no location"
        case [only]:
            return f"{only.path}:{only.start.line}"
        case several:
            return f"({len(several)} possible locations) 🔍"


def expression_text(location: str) -> str:
    """What a location says, for people; as it was written where there is no shorter way."""
    try:
        expression = parse(location)
    except ExplainedError:
        return location
    return _short(expression) or location


def _short(expression: Expression) -> str | None:
    match expression:
        case Call("findDefinition", [Literal(str(name))]):
            return f"`{name}`"
        case Call("findReferences", [Literal(str(name))]):
            return f"References to `{name}`"
        case Call("search", [Literal(str()), Literal(str(regex)), *_]):
            return f"/{regex}/"
        case Call("lines", [Literal(str(path)), Literal(int(first)), Literal(int(last))]):
            return f"`{path}:{first}-{last}`"
        case _:
            return None

"""LSP's numbers as words (LSP 3.17, `SymbolKind` and `DiagnosticSeverity`)."""

from typing import Final

SYMBOL_KINDS: Final = (
    *("File", "Module", "Namespace", "Package", "Class", "Method", "Property", "Field"),
    *("Constructor", "Enum", "Interface", "Function", "Variable", "Constant", "String", "Number"),
    *("Boolean", "Array", "Object", "Key", "Null", "EnumMember", "Struct", "Event", "Operator"),
    "TypeParameter",
)
"""The first is number 1."""

SEVERITIES: Final = ("error", "warning", "information", "hint")
"""The first is number 1."""


def symbol_kind(number: object) -> str | None:
    """The word for a kind; None for a number that has none."""
    return _word(SYMBOL_KINDS, number)


def severity(number: object) -> str:
    """The word for a severity; a server that gives none means an error."""
    return _word(SEVERITIES, number) or SEVERITIES[0]


def _word(words: tuple[str, ...], number: object) -> str | None:
    if not isinstance(number, int) or not 1 <= number <= len(words):
        return None
    return words[number - 1]

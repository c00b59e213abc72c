"""A language server's answers in our own terms, whichever of LSP's shapes they have."""

from typing import Any, cast

from symposium.ide.documents import Documents
from symposium.ide.operations import Diagnostic, FileRange
from symposium.ide.symbol_kinds import severity


def ranges(documents: Documents, found: Any) -> list[FileRange]:
    """One location, several, or links to some."""
    each_of = cast("list[Any]", found if isinstance(found, list) else [found])
    return [
        documents.range(each["targetUri"], each["targetSelectionRange"])
        if "targetUri" in each
        else documents.range(each["uri"], each["range"])
        for each in each_of
    ]


def diagnostic(documents: Documents, uri: str, item: Any) -> Diagnostic:
    """One entry of a report."""
    code = item.get("code")
    return Diagnostic(
        documents.range(uri, item["range"]),
        severity(item.get("severity")),
        item["message"],
        None if code is None else str(code),
        item.get("source"),
    )


def selection_of(outline: list[Any], name: str, span: Any) -> Any:
    """The range of the name of the symbol with this whole range; None if it is not there."""
    for entry in outline:
        if entry["name"] == name and entry.get("range") == span:
            return entry["selectionRange"]
        if (found := selection_of(entry.get("children") or [], name, span)) is not None:
            return found
    return None


def text_of(contents: Any) -> str:
    """The text of a hover: a string, markup, or a list of either."""
    match contents:
        case str():
            return contents.strip()
        case {"value": str(value)}:
            return value.strip()
        case list():
            return "\n\n".join(text_of(each) for each in cast("list[Any]", contents))
        case _:
            raise TypeError(f"no hover has such contents: {contents!r}")

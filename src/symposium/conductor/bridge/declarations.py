"""Finds the `mcpServers` entries that mods declared, and puts others in their places; pure."""

from collections.abc import Callable, Mapping
from typing import Any, cast


def server_id(declaration: object) -> str | None:
    """The server that a declaration names, if it is one of MCP over ACP."""
    if not isinstance(declaration, Mapping):
        return None
    members = cast("Mapping[str, Any]", declaration)
    named = members.get("serverId")
    return named if members.get("type") == "acp" and isinstance(named, str) else None


def rewritten(
    declarations: object, rewrite: Callable[[str, Mapping[str, Any]], dict[str, Any]]
) -> list[Any] | None:
    """The array with every declaration of ours rewritten, in its place; None if there is none."""
    if not isinstance(declarations, list):
        return None
    entries = cast("list[Any]", declarations)
    if not any(server_id(entry) is not None for entry in entries):
        return None
    return [
        entry if (named := server_id(entry)) is None else rewrite(named, entry) for entry in entries
    ]

"""What a workspace stores for other programs to start: shown, and never used by us.

An agent may start it by itself, so whoever opens the workspace is to know.
"""

import json
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

from symposium.trust.item import Effect, Item, TrustError
from symposium.trust.reading import read_item

KIND: Final = "for other programs"

_JSON: Final = (
    ".mcp.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".cursor/mcp.json",
    ".cursor/hooks.json",
    ".gemini/settings.json",
    ".kiro/settings/mcp.json",
    ".vscode/mcp.json",
    ".zed/settings.json",
    "opencode.json",
)
_TOML: Final = (".codex/config.toml",)
FILES: Final = (*_JSON, *_TOML)
"""Where agents and editors look for programs to start with a workspace."""

_COMMANDS: Final = frozenset({"command", "cmd", "apiKeyHelper"})
_URLS: Final = frozenset({"url", "httpUrl", "serverUrl", "baseUrl", "base_url"})
_VARIABLES: Final = frozenset({"env", "environment", "headers"})

MOST_EFFECTS: Final = 200
"""Of one file; how many more there are is said."""

MOST_DEPTH: Final = 30


def foreign_items(workspace: Path) -> list[Item]:
    """The files of a workspace that name programs, servers or variables for others."""
    return [item for name in FILES if (item := _item(workspace, name)) is not None]


def _item(workspace: Path, name: str) -> Item | None:
    try:
        item = read_item(workspace, KIND, name)
    except TrustError:
        return None  # whoever reads it will not get further than we
    if item is None:
        return None
    parse: Callable[[str], Any] = tomllib.loads if name in _TOML else json.loads
    try:
        value: Any = parse(item.content.decode())
    except (ValueError, RecursionError):
        # Another reader may be more tolerant: JSON with comments, say.
        effects: Sequence[Effect] = [Effect("command", "something that we cannot read")]
    else:
        effects = list(_effects(value, 0))
    shown = effects[:MOST_EFFECTS]
    if len(effects) > MOST_EFFECTS:
        shown = [*shown, Effect("command", f"and {len(effects) - MOST_EFFECTS} more")]
    return replace(item, allows=tuple(shown)) if shown or item.links else None


def _effects(value: Any, depth: int) -> Iterator[Effect]:
    if depth > MOST_DEPTH:
        return
    if isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _effects(each, depth + 1)
    elif isinstance(value, Mapping):
        table = cast("Mapping[str, Any]", value)
        for key, detail in table.items():
            if key in _COMMANDS and isinstance(detail, str | list):
                yield Effect("command", _line(detail, table.get("args")))
            elif key in _URLS and isinstance(detail, str):
                yield Effect("server", detail)
            elif key in _VARIABLES and isinstance(detail, Mapping):
                names = cast("Mapping[str, Any]", detail)
                yield from (Effect("variable", f"{name}={names[name]}") for name in names)
            elif key not in _COMMANDS:
                yield from _effects(detail, depth + 1)


def _line(command: Any, arguments: Any) -> str:
    """A command line; a string is one for a shell where no arguments stand beside it."""
    if isinstance(command, str) and not isinstance(arguments, list):
        return command
    words = [command] if isinstance(command, str) else cast("list[Any]", command)
    more = cast("list[Any]", arguments) if isinstance(arguments, list) else []
    return shlex.join(str(word) for word in [*words, *more])

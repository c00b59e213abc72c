"""What an agent asks for, in whichever shape it asks: ACP leaves `rawInput` to each agent.

Seen: a script as a text (`{"command": "git status"}`), an argument list
(`{"command": ["bash", "-lc", "git status"]}`), and nothing but a title.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from symposium.policy.actions import Access, Action, CallTool, RunScript, TouchFile

_COMMAND_KEYS: Final = ("command", "cmd", "commandLine", "script")
PATH_KEYS: Final = (
    *("file_path", "filePath", "filepath", "path", "abs_path", "notebook_path", "destination"),
)
"""Members of `rawInput` that name a file."""

_WRITING: Final = frozenset({"edit", "delete", "move"})
_READING: Final = frozenset({"read", "search"})


def actions_of(tool_call: Mapping[str, Any]) -> Sequence[Action]:
    """What the tool call of `session/request_permission` would do.

    Args:
        tool_call: its members, completed by those of the updates before it.
    """
    raw = _object(tool_call.get("rawInput"))
    kind = str(tool_call.get("kind") or "other")
    title = str(tool_call.get("title") or "")
    script = script_of(raw)
    if script is not None:
        return [RunScript(script)]
    if kind == "execute":
        return [RunScript(title, is_exact=False)]
    access = Access.WRITE if kind in _WRITING else Access.READ if kind in _READING else None
    diffs = _diffs(tool_call)
    touched = [*_paths(tool_call, raw), *diffs]
    if access is None and diffs:
        access = Access.WRITE
    if access is not None and touched:
        return [TouchFile(access, path) for path in dict.fromkeys(touched)]
    return [CallTool(title, kind)]


def action_of_terminal(params: Mapping[str, Any]) -> RunScript:
    """What `terminal/create` would run."""
    command = str(params.get("command") or "")
    arguments: Any = params.get("args")
    if not arguments:
        # Agents differ: some put a whole script where ACP means a program.
        return RunScript(command)
    return RunScript(shlex.join([command, *map(str, cast("list[Any]", arguments))]))


def script_of(raw: Mapping[str, Any]) -> str | None:
    """What a tool call's `rawInput` would have a shell run; None where it names nothing."""
    for key in _COMMAND_KEYS:
        match raw.get(key):
            case str(text) if text.strip():
                return text
            case [*words] if words:
                return shlex.join(map(str, words))
            case _:
                continue
    return None


def _paths(tool_call: Mapping[str, Any], raw: Mapping[str, Any]) -> list[str]:
    located = [_object(each).get("path") for each in _list(tool_call.get("locations"))]
    named = [raw.get(key) for key in PATH_KEYS]
    return [path for path in (*located, *named) if isinstance(path, str) and path]


def _diffs(tool_call: Mapping[str, Any]) -> list[str]:
    content = [_object(each) for each in _list(tool_call.get("content"))]
    paths = [each.get("path") for each in content if each.get("type") == "diff"]
    return [path for path in paths if isinstance(path, str) and path]


def _object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []

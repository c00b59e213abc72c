"""Actions in a tool call of any form: ACP leaves `rawInput` to each agent.

Known forms: a script as text (`{"command": "git status"}`), an argument list
(`{"command": ["bash", "-lc", "git status"]}`), and a title only. A call that runs something is
judged by all its members; unknown ones are doubts.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from peerwire.jsonrpc.values import as_list, as_object
from symposium.permissions.programs.vocabulary import is_harmless
from symposium.permissions.rules import Access, Action, RunScript, ToolAction, TouchFile

_COMMAND_KEYS: Final = ("command", "cmd", "commandLine", "script")
PATH_KEYS: Final = (
    *("file_path", "filePath", "filepath", "path", "abs_path", "notebook_path", "destination"),
)
"""Members of `rawInput` with a file name."""

_DIRECTORY_KEYS: Final = ("cwd", "workdir", "working_directory", "workingDirectory", "directory")
_ENVIRONMENT_KEYS: Final = ("env", "environment")
_ARGUMENT_KEYS: Final = ("args", "arguments", "argv")
_WORDLESS_KEYS: Final = frozenset(
    {
        *("description", "explanation", "reason", "justification", "title", "summary", "thought"),
        *("timeout", "timeout_ms", "timeoutMs", "timeout_seconds", "yield_time_ms"),
        *("max_output_tokens", "max_output_length", "outputByteLimit", "output_byte_limit"),
        *("run_in_background", "is_background", "background", "call_id", "turn_id", "id"),
        *("parsed_cmd", "process_id", "_meta", "toolName", "tool_name"),
    }
)
"""Members next to a script that do not affect it."""

_PLACES: Final = frozenset({"destination", "source", "target", "directory", "dir", "folder"})
_WRITING: Final = frozenset({"edit", "delete", "move"})
_READING: Final = frozenset({"read", "search"})


def actions_of(tool_call: Mapping[str, Any]) -> Sequence[Action]:
    """Actions of the tool call in `session/request_permission`.

    Args:
        tool_call: its members, combined with those of earlier updates.
    """
    given: Any = tool_call.get("rawInput")
    raw = as_object(given)
    kind = str(tool_call.get("kind") or "other")
    title = str(tool_call.get("title") or "")
    scripts = _scripts(raw)
    if scripts:
        diffs = [TouchFile(Access.WRITE, path) for path in dict.fromkeys(_diffs(tool_call))]
        return [*_runs(raw, scripts), *diffs]
    if kind == "execute":
        return [RunScript(title, is_exact=False)]
    access = Access.WRITE if kind in _WRITING else Access.READ if kind in _READING else None
    diffs = _diffs(tool_call)
    touched = [*_paths(tool_call), *_named_files(given), *diffs]
    if access is None and diffs:
        access = Access.WRITE
    if access is not None and touched:
        return [TouchFile(access, path) for path in dict.fromkeys(touched)]
    return [ToolAction(title, kind)]


def action_of_terminal(params: Mapping[str, Any]) -> RunScript:
    """The script that `terminal/create` would run."""
    command = str(params.get("command") or "")
    arguments: Any = params.get("args")
    doubts: list[str] = []
    if not isinstance(arguments, list) and arguments:
        doubts.append("its arguments are not a list")
    if isinstance(arguments, list) and arguments:
        command = shlex.join([command, *map(str, cast("list[Any]", arguments))])
    # Some agents send a whole script where ACP expects a program without arguments.
    doubts += _environment(params.get("env"))
    cwd: Any = params.get("cwd")
    directory = cwd if isinstance(cwd, str) and cwd else None
    return RunScript(command, directory=directory, doubts=tuple(doubts))


def script_of(raw: Mapping[str, Any]) -> str | None:
    """The shell script in a tool call's `rawInput`; None if it has none."""
    return "\n".join(_scripts(raw)) or None


def _runs(raw: Mapping[str, Any], scripts: Sequence[str]) -> list[RunScript]:
    """Scripts of a call, with all its other members."""
    doubts = [f"the effect of `{key}` is unknown" for key in _unknown_members(raw)]
    for key in _ENVIRONMENT_KEYS:
        doubts += _environment(raw.get(key))
    given: list[Any] = [raw[key] for key in _DIRECTORY_KEYS if raw.get(key)]
    places = list(dict.fromkeys(each for each in given if isinstance(each, str)))
    if len(places) > 1 or len(places) < len(given):
        doubts.append("its working directory is ambiguous")
    directory = places[0] if places else None
    return [RunScript(text, directory=directory, doubts=tuple(doubts)) for text in scripts]


def _scripts(raw: Mapping[str, Any]) -> list[str]:
    """Scripts of a call; the arguments belong to the first one."""
    scripts: list[str] = []
    for key in _COMMAND_KEYS:
        match raw.get(key):
            case str(text) if text.strip():
                scripts.append(text)
            case [*words] if words:
                scripts.append(shlex.join(map(str, words)))
            case _:
                continue
    arguments = [str(each) for key in _ARGUMENT_KEYS for each in as_list(raw.get(key))]
    if scripts and arguments:
        scripts[0] = f"{scripts[0]} {shlex.join(arguments)}"
    return list(dict.fromkeys(scripts))


def _unknown_members(raw: Mapping[str, Any]) -> list[str]:
    """Non-empty members with an unknown meaning."""
    shapes: dict[str, type[Any] | tuple[type[Any], ...]] = {
        **dict.fromkeys(_COMMAND_KEYS, (str, list)),
        **dict.fromkeys(_ARGUMENT_KEYS, list),
        **dict.fromkeys(_DIRECTORY_KEYS, str),
        **dict.fromkeys(_ENVIRONMENT_KEYS, (dict, list)),
    }
    return [
        key
        for key, value in raw.items()
        if value not in (None, False, "", [], {})
        and key not in _WORDLESS_KEYS
        and not isinstance(value, shapes.get(key, ()))
    ]


def _environment(given: Any) -> list[str]:
    """Doubts about variables, given as an object or as ACP's list of names and values."""
    if isinstance(given, Mapping):
        pairs = list(cast("Mapping[str, Any]", given).items())
    else:
        each = [as_object(one) for one in as_list(given)]
        pairs = [(str(one.get("name")), one.get("value")) for one in each]
    return [
        f"`{name}` can change what runs"
        for name, value in pairs
        if not is_harmless(name, value if isinstance(value, str) else None)
    ]


def _paths(tool_call: Mapping[str, Any]) -> list[str]:
    located = [as_object(each).get("path") for each in as_list(tool_call.get("locations"))]
    return [path for path in located if isinstance(path, str) and path]


def _named_files(given: Any) -> list[str]:
    """Files in members of `rawInput`, including lists of edits."""
    found: list[str] = []
    waiting: list[Any] = [given]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            members = cast("Mapping[str, Any]", value)
            found += [text for key, text in members.items() if _names_file(key, text)]
            waiting += members.values()
        elif isinstance(value, list):
            waiting += cast("list[Any]", value)
    return found


def _names_file(key: str, value: Any) -> bool:
    is_text = isinstance(value, str) and bool(value) and "\n" not in value
    name = key.lower()
    return is_text and (name in _PLACES or name.endswith(("path", "file", "filename")))


def _diffs(tool_call: Mapping[str, Any]) -> list[str]:
    content = [as_object(each) for each in as_list(tool_call.get("content"))]
    paths = [each.get("path") for each in content if each.get("type") == "diff"]
    return [path for path in paths if isinstance(path, str) and path]
